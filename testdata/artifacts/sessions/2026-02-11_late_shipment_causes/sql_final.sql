SELECT c.cause_group, count(*) AS late_shipments
FROM fact_shipment AS s
JOIN dim_delay_cause AS c USING (delay_cause_id)
WHERE s.delivered_at > s.window_to + INTERVAL 15 MINUTE
GROUP BY c.cause_group
ORDER BY late_shipments DESC;
