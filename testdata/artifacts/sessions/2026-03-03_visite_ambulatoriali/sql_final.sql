SELECT count(*) AS visite FROM fact_visita WHERE esito = 'eseguita';
