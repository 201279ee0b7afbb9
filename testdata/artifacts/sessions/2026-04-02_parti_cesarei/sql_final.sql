SELECT avg(cesareo::INT) AS quota FROM fact_parto WHERE primipara;
