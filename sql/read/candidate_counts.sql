-- candidates by status
SELECT status, count(*) FROM derived.candidate GROUP BY status ORDER BY status
