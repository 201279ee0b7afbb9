SELECT e.cod_esame, count(*) AS ripetuti
FROM fact_esame_lab AS e
JOIN fact_esame_lab AS prima
  ON prima.id_paziente = e.id_paziente
 AND prima.cod_esame = e.cod_esame
 AND e.ora_prelievo - prima.ora_prelievo BETWEEN INTERVAL 1 HOUR AND INTERVAL 24 HOUR
GROUP BY e.cod_esame;
