SELECT d.depot_code, sum(r.driver_cost + r.fuel_cost + r.toll_cost) / sum(r.stops_done) AS cost_per_stop
FROM fact_route AS r
JOIN dim_depot AS d USING (depot_id)
WHERE r.route_date >= DATE '2025-10-01'
GROUP BY d.depot_code;
