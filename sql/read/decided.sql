-- Memory that a session has already decided on: rejected by id, or cited by a clarified concept; $1 the session
SELECT DISTINCT memory_id FROM (
    SELECT regexp_extract(subject, '(?:^|[^\p{L}\p{Nd}_])(mem-[0-9]+)(?:[^\p{L}\p{Nd}_]|$)', 1) AS memory_id
    FROM decisions WHERE session_id = $1 AND is_effective AND type = 'memory_rejected'
    UNION ALL
    SELECT regexp_extract(detail, '(?:^|[^\p{L}\p{Nd}_])(mem-[0-9]+)(?:[^\p{L}\p{Nd}_]|$)', 1)
    FROM decisions WHERE session_id = $1 AND is_effective AND type = 'memory_rejected'
    UNION ALL
    SELECT regexp_extract(rationale, '(?:^|[^\p{L}\p{Nd}_])(mem-[0-9]+)(?:[^\p{L}\p{Nd}_]|$)', 1)
    FROM decisions WHERE session_id = $1 AND is_effective AND type IN ('concept_clarified', 'memory_rejected'))
WHERE memory_id <> ''
