WITH ablazioni AS (
    SELECT DISTINCT p.id_ricovero
    FROM fact_procedura AS p
    JOIN dim_tempo AS t ON t.id_tempo = p.id_tempo_procedura
    WHERE p.cod_icd9 = '37.34'
      AND t.anno = 2024
)
SELECT count(*) AS ablazioni_2024
FROM ablazioni;
