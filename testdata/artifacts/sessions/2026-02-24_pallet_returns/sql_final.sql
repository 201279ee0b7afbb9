SELECT r.customer_id, count(*) AS damaged
FROM fact_return AS r
JOIN fact_pallet AS p USING (pallet_id)
WHERE p.grade IN ('C', 'D')
GROUP BY r.customer_id;

