-- read a value of meta
SELECT value FROM meta WHERE key = $1
