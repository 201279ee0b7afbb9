-- scratch tables of one plan: what the index holds, what was refused or retracted before, what was applied
CREATE OR REPLACE TEMP TABLE seen (
    point_id VARCHAR, record_key VARCHAR, kind VARCHAR, ref VARCHAR, type VARCHAR, session_id VARCHAR,
    workspace VARCHAR, content_hash VARCHAR, text_hash VARCHAR, payload_hash VARCHAR, embed_space VARCHAR);
CREATE OR REPLACE TEMP TABLE refusal (record_key VARCHAR, content_hash VARCHAR, embed_space VARCHAR, reason VARCHAR);
CREATE OR REPLACE TEMP TABLE retraction (record_key VARCHAR);
CREATE OR REPLACE TEMP TABLE applied (
    record_key VARCHAR, kind VARCHAR, ref VARCHAR, content_hash VARCHAR, embed_space VARCHAR, point_id VARCHAR);

-- What the index holds after the work: what was seen, with what was applied in its place.
CREATE OR REPLACE TEMP MACRO held(of_workspace) AS TABLE
SELECT coalesce(nullif(s.record_key, ''), s.point_id) AS record_key, s.kind, s.ref, s.content_hash, s.embed_space, s.point_id
FROM seen s
WHERE s.kind IN ('memory', 'solved_question') AND (s.workspace IS NULL OR s.workspace IN ('', of_workspace))
  AND s.point_id NOT IN (SELECT point_id FROM applied)
UNION ALL
SELECT record_key, kind, ref, content_hash, embed_space, point_id FROM applied;
