SELECT avg(2026 - v.first_registered_year) AS years FROM dim_vehicle AS v WHERE v.disposed_at IS NULL;
