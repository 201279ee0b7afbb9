-- the plan in numbers
SELECT kind, action, count(*) FROM planned GROUP BY ALL ORDER BY ALL
