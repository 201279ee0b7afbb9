SELECT count(DISTINCT e.id_ricovero) AS ablazioni_2023
FROM fact_evento_sala AS e
WHERE e.tipo_procedura = 'ABL'
  AND e.inizio >= TIMESTAMP '2023-01-01'
  AND e.inizio <  TIMESTAMP '2024-01-01';
