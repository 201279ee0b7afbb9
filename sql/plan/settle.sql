-- what the index holds now: what was seen, with what was applied in its place
CREATE OR REPLACE TEMP TABLE held AS
SELECT coalesce(nullif(s.record_key, ''), s.point_id) AS record_key, s.kind, s.ref, s.content_hash, s.embed_space, s.point_id
FROM seen s
WHERE s.kind IN ('memory', 'solved_question') AND (s.workspace IS NULL OR s.workspace IN ('', $1))
  AND s.point_id NOT IN (SELECT point_id FROM applied)
UNION ALL
SELECT record_key, kind, ref, content_hash, embed_space, point_id FROM applied
