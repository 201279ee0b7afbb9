SELECT date_trunc('month', s.promised_date) AS month,
       avg(CASE WHEN a.on_time AND NOT a.refused THEN 1.0 ELSE 0.0 END) AS on_time_share
FROM fact_shipment AS s
JOIN fact_first_attempt AS a USING (shipment_id)
WHERE s.promised_date >= DATE '2026-01-01' AND s.promised_date < DATE '2026-04-01'
GROUP BY month;
