SELECT p.classe_priorita, median(p.data_visita - p.data_prenotazione) AS giorni
FROM fact_prenotazione AS p
WHERE p.cod_prestazione = '89.7A.3'
GROUP BY p.classe_priorita;
