-- the chunks of work
SELECT kind, chunk, count(*) FROM planned WHERE writes GROUP BY ALL ORDER BY ALL
