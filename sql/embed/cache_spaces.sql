-- List the spaces of the cache of embeddings
SELECT embed_space, count(*) AS vectors, max(last_used) AS last_used
FROM vectors
GROUP BY embed_space
ORDER BY embed_space
