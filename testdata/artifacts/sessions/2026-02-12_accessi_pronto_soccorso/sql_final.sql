SELECT a.codice_priorita,
       count(*) AS accessi,
       median(date_diff('minute', a.ora_triage, a.ora_presa_in_carico)) AS attesa_mediana
FROM fact_accesso_ps AS a
WHERE a.data_accesso >= DATE '2026-01-01'
GROUP BY a.codice_priorita
ORDER BY a.codice_priorita;
