-- a fingerprint of what the index holds now; $1 the workspace
SELECT count(*) || ':' || coalesce(bit_xor(h), 0) || ':' || coalesce(sum(h), 0)
FROM (SELECT hash(record_key, kind, ref, content_hash, embed_space, point_id) AS h FROM held($1))
