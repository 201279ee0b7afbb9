-- the Memory of one chunk, with what its record is made of
SELECT p.record_key, p.action, p.embeds, coalesce(p.point_id, '') AS point_id, s.content_hash, s.payload_hash,
       l.id, l.ts, l.session_id, l.decision_seq, l.type, l.subject, l.detail, l.rationale, l.question_context, l.tables, l.concepts
FROM planned p
JOIN source s ON s.record_key = p.record_key
JOIN parsed.memory_line l ON l.line = s.line
WHERE p.writes AND p.kind = 'memory' AND p.chunk = $1
ORDER BY p.record_key
