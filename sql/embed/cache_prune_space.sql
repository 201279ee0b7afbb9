-- Prune a space from the cache of embeddings
DELETE FROM vectors WHERE embed_space = $1
