-- the plan: for each source and each point of ours the first action that fits, and why; $1 workspace, $2 space, $3 adopt_as, $4 same dimension, $5 complete scan
CREATE OR REPLACE TEMP TABLE planned AS
WITH ours AS (
    SELECT *, coalesce(nullif(record_key, ''), point_id) AS key FROM seen
    WHERE kind IN ('memory', 'solved_question') AND (workspace IS NULL OR workspace IN ('', $1))
), repeated AS (
    SELECT key FROM ours GROUP BY key HAVING count(*) > 1
), point AS (
    SELECT *, 1 AS nth FROM ours WHERE key NOT IN (FROM repeated)
    UNION ALL
    SELECT *, row_number() OVER (PARTITION BY key ORDER BY coalesce(embed_space, '') = '', point_id)
    FROM ours WHERE key IN (FROM repeated)
), decided AS (
    SELECT coalesce(s.record_key, p.key) AS record_key, coalesce(s.kind, p.kind) AS kind, coalesce(s.ref, p.ref) AS ref,
           p.point_id, s.bytes,
           CASE WHEN t.record_key IS NOT NULL THEN {'action': 'retracted', 'reason': 'a reviewer took it out of use'}
                WHEN NOT s.indexable THEN {'action': 'withheld', 'reason': s.reason}
                WHEN f.record_key IS NOT NULL THEN {'action': 'withheld', 'reason': 'refused before: ' || f.reason}
                WHEN s.record_key IS NULL AND p.kind = 'memory' THEN {'action': 'orphan', 'reason': 'in the index, and no registry line has this id'}
                WHEN s.record_key IS NULL AND k.key IS NOT NULL THEN {'action': 'withheld', 'reason': 'no effective sql_approved'}
                WHEN s.record_key IS NULL THEN {'action': 'orphan', 'reason': 'in the index, and its session is unknown or gone'}
                WHEN p.key IS NULL THEN {'action': 'insert', 'reason': 'not in the index'}
                WHEN coalesce(p.embed_space, '') = '' AND $4 AND p.content_hash = s.content_hash AND $3 = $2
                    THEN {'action': 'adopt', 'reason': 'made by another writer, same content, and index.adopt_as names this space'}
                WHEN coalesce(p.embed_space, '') = '' AND NOT $4
                    THEN {'action': 'foreign', 'reason': 'made by another writer with another dimension: give it a collection of its own'}
                WHEN coalesce(p.embed_space, '') = '' AND p.content_hash IS DISTINCT FROM s.content_hash
                    THEN {'action': 'foreign', 'reason': 'made by another writer with other content: delete it there, or align memory.content_template'}
                WHEN coalesce(p.embed_space, '') = ''
                    THEN {'action': 'foreign', 'reason': 'made by another writer: if its model is this one, set index.adopt_as to ' || $2}
                WHEN p.embed_space <> $2 THEN {'action': 'reembed', 'reason': 'embedded in the space ' || p.embed_space}
                WHEN p.content_hash IS DISTINCT FROM s.content_hash AND p.text_hash IS DISTINCT FROM s.text_hash
                    THEN {'action': 'update', 'reason': 'the embedded text differs'}
                WHEN p.content_hash IS DISTINCT FROM s.content_hash THEN {'action': 'update', 'reason': 'the content differs, the embedded text does not'}
                WHEN p.payload_hash IS DISTINCT FROM s.payload_hash THEN {'action': 'repayload', 'reason': 'only the payload differs'}
                ELSE {'action': 'unchanged', 'reason': 'all hashes are equal'} END AS verdict,
           p.text_hash IS DISTINCT FROM s.text_hash AS text_differs
    FROM source s
    FULL JOIN (SELECT * FROM point WHERE nth = 1) p ON p.key = s.record_key
    LEFT JOIN refusal f ON f.record_key = s.record_key AND f.content_hash = s.content_hash AND f.embed_space = $2
    -- A session that is there is the source of its pair, also when it has neither a SQL file nor an approval any more.
    LEFT JOIN (SELECT 'solved:' || session_id AS key FROM parsed.session WHERE NOT gone) k ON k.key = p.key
    LEFT JOIN retraction t ON t.record_key = coalesce(s.record_key, p.key)
    WHERE s.record_key IS NOT NULL OR $5
), numbered AS (
    SELECT record_key, kind, ref, point_id, verdict.action AS action, verdict.reason AS reason, coalesce(bytes, 0) AS bytes,
           verdict.action IN ('insert', 'reembed') OR (verdict.action = 'update' AND text_differs) AS embeds,
           verdict.action IN ('insert', 'adopt', 'reembed', 'update', 'repayload') AS writes
    FROM decided
    UNION ALL
    SELECT key, kind, ref, point_id, 'twin', 'a second point with this key: ' || point_id, 0, false, false
    FROM point WHERE nth > 1 AND ($5 OR key IN (SELECT record_key FROM source))
)
SELECT *, CAST(NULL AS BIGINT) AS chunk FROM numbered WHERE NOT writes
UNION ALL
-- A chunk is what is held in memory at a time: at most 4096 records and some 16 MB of text.
SELECT *, CAST(floor((row_number() OVER work - 1) / 4096) + floor(sum(bytes) OVER work / 16777216) AS BIGINT)
FROM numbered WHERE writes
WINDOW work AS (PARTITION BY kind ORDER BY record_key)
