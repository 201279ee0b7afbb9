-- più le attivazioni tardive
SELECT count(*) AS dimissioni_protette FROM fact_ricovero WHERE piano_attivato;
