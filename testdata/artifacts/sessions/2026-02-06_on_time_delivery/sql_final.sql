WITH first_attempt AS (
    SELECT a.shipment_id, min(a.attempted_at) AS attempted_at
    FROM fact_delivery_attempt AS a
    GROUP BY a.shipment_id
)
SELECT avg(CASE WHEN f.attempted_at BETWEEN s.window_from - INTERVAL 15 MINUTE
                                        AND s.window_to   + INTERVAL 15 MINUTE
                THEN 1.0 ELSE 0.0 END) AS on_time_share
FROM fact_shipment AS s
JOIN first_attempt AS f USING (shipment_id)
WHERE s.promised_date BETWEEN DATE '2026-01-01' AND DATE '2026-01-31';
