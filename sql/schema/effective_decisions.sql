-- decisions that count: effective, and of usable sessions; a view in the published file too
CREATE VIEW effective_decisions AS
SELECT d.session_id, d.seq, d.ts, d.type, d.phase, d.subject, d.detail, d.rationale
FROM decisions d
WHERE d.is_effective AND d.session_id IN (SELECT s.session_id FROM sessions s WHERE s.usable);
