-- which registry lines are indexable, and why the others are not
DELETE FROM derived.memory;
DELETE FROM derived.memory_hash;
INSERT INTO derived.memory
WITH first_of_id AS (
    SELECT *, row_number() OVER (PARTITION BY id ORDER BY line) = 1 AS is_first FROM parsed.memory_line
), judged AS (
    SELECT line, id, session_id, decision_seq,
           CASE WHEN NOT regexp_full_match(id, 'mem-[0-9]+') THEN 'the id is not of the form mem-N'
                WHEN NOT is_first THEN 'the id stands on an earlier line'
                WHEN NOT is_reusable(type) THEN 'the type is not reusable'
                WHEN is_blank(subject) AND is_blank(detail) THEN 'subject and detail are blank' END AS reason
    FROM first_of_id
), collided AS (
    SELECT *, CASE WHEN reason IS NULL AND session_id <> '' AND decision_seq IS NOT NULL
                   AND row_number() OVER (PARTITION BY reason IS NULL, session_id, decision_seq ORDER BY line) > 1
              THEN 'an earlier line has the same session_id and decision_seq' END AS collision
    FROM judged
)
SELECT line, id, reason IS NULL AND collision IS NULL, coalesce(reason, collision) FROM collided;
