WITH episodi AS (
    SELECT r.id_paziente, r.data_ingresso, r.data_dimissione,
           lag(r.data_dimissione) OVER (PARTITION BY r.id_paziente ORDER BY r.data_ingresso) AS dimissione_prima
    FROM fact_ricovero AS r
    ANTI JOIN fact_trasferimento AS t ON t.id_ricovero_arrivo = r.id_ricovero
    WHERE r.regime = 'ordinario'
)
SELECT count(*) AS riammissioni
FROM episodi
WHERE data_ingresso - dimissione_prima BETWEEN 1 AND 30
  AND year(data_ingresso) = 2025;
