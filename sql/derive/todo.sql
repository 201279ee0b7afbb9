-- sessions to derive: never derived since their files changed, gone or back, or accepted otherwise than before
CREATE OR REPLACE TEMP TABLE todo AS
SELECT s.session_key, s.session_id, s.gone, (m.session_key IS NULL OR m.fault IS NOT NULL) AS invalid,
       ($1 OR s.session_id IN (SELECT unnest(CAST($2 AS VARCHAR[])))) AS accepted
FROM parsed.session s
LEFT JOIN derived.session_state d USING (session_key)
LEFT JOIN parsed.manifest m USING (session_key)
WHERE d.session_key IS NULL
   OR d.gone <> s.gone
   OR (d.state = 'degraded' AND d.usable <> ($1 OR s.session_id IN (SELECT unnest(CAST($2 AS VARCHAR[])))))
