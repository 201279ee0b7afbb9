-- sessions by state, for the demonstration
SELECT state, count(*) AS sessions, sum(decisions)::BIGINT AS decisions FROM sessions GROUP BY state ORDER BY state
