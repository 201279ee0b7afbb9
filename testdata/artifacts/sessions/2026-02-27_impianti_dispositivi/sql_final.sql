SELECT d.tipo_dispositivo, count(*) AS impianti
FROM fact_impianto AS i
JOIN dim_dispositivo AS d USING (id_dispositivo)
WHERE i.tipo_intervento = 'primo impianto'
GROUP BY d.tipo_dispositivo;
