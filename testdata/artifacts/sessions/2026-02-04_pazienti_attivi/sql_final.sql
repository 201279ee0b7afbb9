SELECT count(DISTINCT c.id_paziente) AS pazienti_attivi
FROM fact_contatto AS c
JOIN dim_paziente AS p ON p.id_paziente = c.id_paziente
WHERE c.data_contatto > DATE '2026-01-31' - INTERVAL 12 MONTH
  AND p.data_decesso IS NULL;
