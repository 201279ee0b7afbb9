-- Look up a batch of texts in the cache of embeddings
-- $1 the space, $2 the hashes, in hex and joined by commas.
SELECT text_hash, vector, last_used
FROM vectors
WHERE embed_space = $1
  AND text_hash IN (SELECT unhex(unnest(string_split($2, ','))))
