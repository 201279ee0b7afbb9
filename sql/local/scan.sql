-- local store: scan the points without vectors
SELECT
    point_id, record_key, kind, ref, type, session_id, workspace,
    content_hash, text_hash, payload_hash, embed_space
FROM points;
