-- a name that was not followed
INSERT INTO parsed.skipped VALUES ($1, $2)
