SELECT count(DISTINCT c.id_paziente) AS pazienti_attivi
FROM fact_contatto AS c
JOIN dim_paziente AS p USING (id_paziente)
WHERE c.cod_reparto = 'CARD'
  AND c.data_contatto > DATE '2026-02-28' - INTERVAL 12 MONTH
  AND p.data_decesso IS NULL;
