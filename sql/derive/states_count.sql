-- sessions by state
SELECT state, count(*) FROM derived.session_state GROUP BY state ORDER BY state
