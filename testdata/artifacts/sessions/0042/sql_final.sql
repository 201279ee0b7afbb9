SELECT count(*) AS ecocardiogrammi FROM fact_esame WHERE cod_esame = '88.72.2' AND anno = 2025;
