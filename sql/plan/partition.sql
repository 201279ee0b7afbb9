-- the sums that a plan must satisfy: every source once, every point of ours once
SELECT (SELECT count(*) FROM source),
       (SELECT count(*) FROM seen WHERE kind IN ('memory', 'solved_question') AND (workspace IS NULL OR workspace IN ('', $1))),
       (SELECT count(*) FROM planned WHERE record_key IN (SELECT record_key FROM source) AND action <> 'twin'),
       (SELECT count(*) FROM planned WHERE point_id IS NOT NULL),
       (SELECT count(*) FROM seen WHERE kind IN ('memory', 'solved_question') AND (workspace IS NULL OR workspace IN ('', $1))
            AND NOT $2 AND coalesce(nullif(record_key, ''), point_id) NOT IN (SELECT record_key FROM source)),
       (SELECT count(*) FROM planned)
