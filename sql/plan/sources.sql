-- what should be in the index, and what exists and is held back; $1 one session or NULL, $2 one kind or NULL, $3 any status will do
CREATE OR REPLACE TEMP TABLE source AS
WITH memory AS (
    SELECT 'memory:' || l.id AS record_key, 'memory' AS kind, l.id AS ref, m.indexable, m.skip_reason AS reason,
           h.content_hash, h.text_hash, h.payload_hash, l.session_id, l.line, h.bytes
    FROM parsed.memory_line l
    JOIN derived.memory m USING (line)
    LEFT JOIN derived.memory_hash h USING (line)
), solved AS (
    SELECT 'solved:' || s.session_id AS record_key, 'solved_question' AS kind, s.session_id AS ref,
           v.skip_reason IS NULL OR ($3 AND v.status_only) AS indexable, v.skip_reason AS reason,
           h.content_hash, h.text_hash, h.payload_hash, s.session_id, 0 AS line, h.bytes
    FROM derived.solved v
    JOIN parsed.session s USING (session_key)
    LEFT JOIN derived.solved_hash h USING (session_key)
), both_kinds AS (
    SELECT * FROM memory WHERE indexable
    UNION ALL
    -- An id that cannot be indexed may stand on several lines, one of which can.
    SELECT * FROM memory WHERE NOT indexable AND record_key NOT IN (SELECT record_key FROM memory WHERE indexable)
    QUALIFY row_number() OVER (PARTITION BY record_key ORDER BY line) = 1
    UNION ALL
    SELECT * FROM solved
)
SELECT * FROM both_kinds
WHERE (CAST($1 AS VARCHAR) IS NULL OR session_id = $1) AND (CAST($2 AS VARCHAR) IS NULL OR kind = $2)
