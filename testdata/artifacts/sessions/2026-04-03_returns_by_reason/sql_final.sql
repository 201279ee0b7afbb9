SELECT r.reason_code, count(*) AS parcels
FROM fact_return AS r
GROUP BY r.reason_code;
