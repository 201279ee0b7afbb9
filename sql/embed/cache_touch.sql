-- Note that vectors of the cache were used
-- $1 the space, $2 the hashes, in hex and joined by commas, $3 when.
UPDATE vectors
SET last_used = $3
WHERE embed_space = $1
  AND text_hash IN (SELECT unhex(unnest(string_split($2, ','))))
