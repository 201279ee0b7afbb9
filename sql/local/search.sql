-- local store: search by cosine similarity
-- The query comes with unit length. Payloads are fetched for the rows that
-- remain, by their place in the table, because they are most of its bytes.
WITH
    matched AS (
        SELECT place FROM temp.main.matching GROUP BY place HAVING count(*) = $filters
    ),
    ranked AS (
        SELECT
            p.rowid AS place,
            p.record_key,
            p.point_id,
            greatest(-1.0, least(1.0, array_inner_product(p.vector, $query::FLOAT[{dimensions}])::DOUBLE / p.norm))::DOUBLE AS score
        FROM points AS p
        WHERE p.kind IN (SELECT unnest($kinds::VARCHAR[]))
          AND (p.kind <> $memory OR coalesce(p.type = $reusable, false))
          AND ($record_key = '' OR p.record_key = $record_key)
          AND ($ref = '' OR p.ref = $ref)
          AND ($type = '' OR p.type = $type)
          AND ($session_id = '' OR p.session_id = $session_id)
          AND ($workspace = '' OR p.workspace = $workspace)
          AND ($filters = 0 OR p.rowid IN (SELECT place FROM matched))
        ORDER BY score DESC, p.record_key NULLS FIRST, p.point_id
        LIMIT $limit OFFSET $offset
    )
SELECT p.point_id, coalesce(p.record_key, ''), coalesce(p.ref, ''), r.score, p.payload::VARCHAR
FROM ranked AS r
JOIN points AS p ON p.rowid = r.place
ORDER BY r.score DESC, r.record_key NULLS FIRST, r.point_id;
