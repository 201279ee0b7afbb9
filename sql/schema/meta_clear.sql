-- clear a value of meta
DELETE FROM meta WHERE key = $1
