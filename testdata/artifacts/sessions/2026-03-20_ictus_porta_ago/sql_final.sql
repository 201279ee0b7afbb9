SELECT median(date_diff('minute', i.ora_arrivo, i.ora_bolo)) AS porta_ago
FROM fact_ictus AS i
WHERE i.trombolisi;
