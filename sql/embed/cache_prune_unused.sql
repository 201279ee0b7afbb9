-- Prune from the cache of embeddings what was not used since a time
DELETE FROM vectors WHERE last_used < $1
