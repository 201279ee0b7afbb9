-- the solved pairs of one chunk, with what their record is made of
SELECT p.record_key, p.action, p.embeds, coalesce(p.point_id, '') AS point_id, c.content_hash, c.payload_hash,
       s.session_id, d.question_context, q.sql, v.tables
FROM planned p
JOIN source c ON c.record_key = p.record_key
JOIN parsed.session s ON s.session_id = p.ref
JOIN derived.session_state d USING (session_key)
JOIN parsed.sql_final q USING (session_key)
JOIN derived.solved v USING (session_key)
WHERE p.writes AND p.kind = 'solved_question' AND p.chunk = $1
ORDER BY p.record_key
