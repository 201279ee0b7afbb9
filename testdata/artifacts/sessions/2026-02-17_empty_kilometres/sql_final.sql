SELECT v.vehicle_class, sum(l.km) FILTER (WHERE l.payload_kg = 0) / sum(l.km) AS empty_share
FROM fact_leg AS l
JOIN dim_vehicle AS v USING (vehicle_id)
GROUP BY v.vehicle_class;
