-- what effective_decisions and its columns mean
COMMENT ON VIEW effective_decisions IS 'Decisions that count: effective, and of usable sessions.';
COMMENT ON COLUMN effective_decisions.session_id IS 'The session';
COMMENT ON COLUMN effective_decisions.seq IS 'Number of the decision';
COMMENT ON COLUMN effective_decisions.ts IS 'When it was taken, UTC';
COMMENT ON COLUMN effective_decisions.type IS 'Type of the decision';
COMMENT ON COLUMN effective_decisions.phase IS 'Phase 1 to 8';
COMMENT ON COLUMN effective_decisions.subject IS 'Subject';
COMMENT ON COLUMN effective_decisions.detail IS 'Detail';
COMMENT ON COLUMN effective_decisions.rationale IS 'Why it was taken';
