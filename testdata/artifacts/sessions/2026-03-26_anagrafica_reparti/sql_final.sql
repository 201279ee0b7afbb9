SELECT cod_reparto, descrizione FROM dim_reparto WHERE valido_al IS NULL ORDER BY cod_reparto;
