-- put the registry as read in the place of what it was; sessions that it changes anything for are derived again
CREATE OR REPLACE TEMP TABLE pair_before AS
SELECT DISTINCT session_id, decision_seq FROM parsed.memory_line WHERE is_reusable(type) AND decision_seq IS NOT NULL;
CREATE OR REPLACE TEMP TABLE indexable_before AS SELECT memory_id FROM derived.memory WHERE indexable;

DELETE FROM parsed.memory_line;
DELETE FROM parsed.fault WHERE file = 'registry';
INSERT INTO parsed.memory_line FROM memory_stage;
INSERT INTO parsed.fault FROM fault_stage;
