SELECT a.failure_reason, count(*) AS attempts
FROM fact_delivery_attempt AS a
WHERE a.outcome = 'failed'
GROUP BY a.failure_reason;
