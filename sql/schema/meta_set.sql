-- set a value of meta
INSERT INTO meta VALUES ($1, $2)
