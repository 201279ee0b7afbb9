-- indexable Memory whose content and hashes have still to be made
SELECT l.line, l.id, l.ts, l.session_id, l.decision_seq, l.type, l.subject, l.detail, l.rationale, l.question_context,
       l.tables, l.concepts
FROM parsed.memory_line l
JOIN derived.memory m USING (line)
ANTI JOIN derived.memory_hash h USING (line)
WHERE m.indexable
LIMIT $1
