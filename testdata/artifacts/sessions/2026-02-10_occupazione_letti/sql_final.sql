SELECT l.cod_reparto, sum(l.letti_occupati) * 1.0 / sum(l.letti_attivi) AS occupazione
FROM fact_letto_giorno AS l
JOIN dim_tempo AS t USING (id_tempo)
WHERE t.data BETWEEN DATE '2025-12-01' AND DATE '2026-02-28'
GROUP BY l.cod_reparto;
