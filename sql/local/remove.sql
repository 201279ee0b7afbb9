-- local store: remove the points that the batch brings with a vector
DELETE FROM points
WHERE point_id IN (SELECT i.point_id FROM temp.main.incoming AS i WHERE i.vector IS NOT NULL);
