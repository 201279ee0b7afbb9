-- local store: insert the points that the batch brings with a vector
INSERT INTO points BY NAME
SELECT * FROM temp.main.incoming WHERE vector IS NOT NULL;
