SELECT d.depot_code, count(*) AS pallets
FROM fact_pallet_move AS m
JOIN dim_depot AS d USING (depot_id)
WHERE m.moved_at::TIME >= TIME '22:00' OR m.moved_at::TIME < TIME '06:00'
GROUP BY d.depot_code;
