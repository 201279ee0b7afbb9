SELECT r.cod_reparto,
       avg(date_diff('day', r.data_ingresso, r.data_dimissione)) AS degenza_media
FROM fact_ricovero AS r
WHERE r.data_dimissione IS NOT NULL
GROUP BY r.cod_reparto
ORDER BY degenza_media DESC;
