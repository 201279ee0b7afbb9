SELECT avg(CASE WHEN r.esito = 'deceduto' THEN 1.0 ELSE 0.0 END) AS mortalita
FROM fact_ricovero AS r
WHERE r.diagnosi_principale LIKE '410%';
