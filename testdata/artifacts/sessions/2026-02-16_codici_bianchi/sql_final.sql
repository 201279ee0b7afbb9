SELECT count(*) FILTER (WHERE a.ticket_dovuto) AS con_ticket, count(*) AS codici_bianchi
FROM fact_accesso_ps AS a
WHERE a.codice_priorita = 5;
