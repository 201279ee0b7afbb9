SELECT g.mdc, sum(r.importo_drg) AS importo
FROM fact_ricovero AS r
JOIN dim_drg AS g USING (cod_drg)
WHERE year(r.data_dimissione) = 2025
GROUP BY g.mdc;
