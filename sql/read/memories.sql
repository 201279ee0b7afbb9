-- registry records behind search hits: indexable ones only; $1 their ids
SELECT memory_id AS id, ts, session_id, decision_seq, type, subject, detail, rationale, question_context, tables, concepts
FROM memories
WHERE indexable AND memory_id IN (SELECT unnest(CAST($1 AS VARCHAR[])))
