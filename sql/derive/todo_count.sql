-- how many sessions are to be derived
SELECT count(*) FROM todo
