SELECT f.cod_reparto, sum(f.ddd) / sum(g.giornate) * 100 AS ddd_100_giornate
FROM fact_farmaco AS f
JOIN fact_giornata AS g USING (cod_reparto, mese)
WHERE f.atc LIKE 'J01%'
GROUP BY f.cod_reparto;
