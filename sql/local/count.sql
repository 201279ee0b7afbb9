-- local store: count the points
SELECT count(*) FROM points;
