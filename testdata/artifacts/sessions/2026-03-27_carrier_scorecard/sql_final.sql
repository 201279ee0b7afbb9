SELECT c.carrier_code, avg(s.on_time::INT) AS on_time_share, avg(s.claims) AS claims_per_shipment
FROM fact_carrier_shipment AS s
JOIN dim_carrier AS c USING (carrier_id)
GROUP BY c.carrier_code
ORDER BY on_time_share DESC;
