-- local store: the payloads of some point ids
SELECT point_id, payload::VARCHAR
FROM points
WHERE point_id IN (SELECT unnest($ids::VARCHAR[]));
