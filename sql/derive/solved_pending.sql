-- solved pairs whose hashes have still to be made
SELECT v.session_key, s.session_id, d.question_context, q.sql, v.tables
FROM derived.solved v
JOIN parsed.session s USING (session_key)
JOIN derived.session_state d USING (session_key)
JOIN parsed.sql_final q USING (session_key)
ANTI JOIN derived.solved_hash h USING (session_key)
WHERE v.skip_reason IS NULL OR v.status_only
LIMIT $1
