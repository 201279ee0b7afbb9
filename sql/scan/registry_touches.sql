-- sessions whose candidates the change of the registry may have changed
CREATE OR REPLACE TEMP TABLE pair_now AS
SELECT DISTINCT session_id, decision_seq FROM parsed.memory_line WHERE is_reusable(type) AND decision_seq IS NOT NULL;
DELETE FROM derived.session_state WHERE session_key IN (
    SELECT s.session_key FROM parsed.session s WHERE s.session_id IN (
        SELECT session_id FROM (FROM pair_before EXCEPT FROM pair_now)
        UNION ALL SELECT session_id FROM (FROM pair_now EXCEPT FROM pair_before))
    UNION ALL
    SELECT c.session_key FROM derived.citation c WHERE c.memory_id IN (
        SELECT memory_id FROM (FROM indexable_before EXCEPT SELECT memory_id FROM derived.memory WHERE indexable)
        UNION ALL
        SELECT memory_id FROM (SELECT memory_id FROM derived.memory WHERE indexable EXCEPT FROM indexable_before)));
