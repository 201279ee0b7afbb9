SELECT count(*) AS lotti FROM fact_giacenza WHERE data_scadenza < DATE '2026-03-01';
