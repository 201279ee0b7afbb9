SELECT avg(stops_done / km) AS stops_per_km FROM fact_route;
