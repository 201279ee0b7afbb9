SELECT count(*) AS sacche FROM fact_trasfusione WHERE esito = 'conclusa';
