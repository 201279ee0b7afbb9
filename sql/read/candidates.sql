-- the proposed candidates of one session, in order of their rank
SELECT decision_seq, type, subject, detail, rationale, question_context, tables, concepts, status, rank,
       duplicate_of_seq, coalesce(reuses_memory_id, '') AS reuses_memory_id
FROM promotion_candidates WHERE session_id = $1
ORDER BY rank NULLS LAST, decision_seq
