-- local store: the points of some record keys
SELECT
    point_id,
    record_key,
    coalesce(kind, ''),
    coalesce(ref, ''),
    coalesce(workspace, ''),
    coalesce(content_hash, ''),
    coalesce(text_hash, ''),
    coalesce(payload_hash, ''),
    coalesce(embed_space, '')
FROM points
WHERE record_key IN (SELECT unnest($keys::VARCHAR[]))
ORDER BY record_key, point_id;
