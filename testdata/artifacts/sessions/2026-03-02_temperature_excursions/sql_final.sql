SELECT t.lane_code, count(*) AS excursions
FROM fact_excursion AS e
JOIN dim_lane AS t USING (lane_id)
WHERE e.minutes_outside > 20
GROUP BY t.lane_code;
