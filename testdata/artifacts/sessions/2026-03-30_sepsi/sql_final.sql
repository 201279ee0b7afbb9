SELECT median(date_diff('minute', e.ora_riconoscimento, e.ora_prima_dose)) AS minuti
FROM fact_sepsi AS e;
