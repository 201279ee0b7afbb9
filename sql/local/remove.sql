-- local store: remove the points that the batch replaces
DELETE FROM points WHERE point_id IN (SELECT unnest($ids::VARCHAR[]));
