-- records of another workspace under a key of ours
SELECT count(*), coalesce(min(s.record_key), ''), coalesce(min(s.workspace), '')
FROM seen s JOIN source o ON o.record_key = s.record_key
WHERE s.kind IN ('memory', 'solved_question') AND s.workspace IS NOT NULL AND s.workspace <> '' AND s.workspace <> $1
