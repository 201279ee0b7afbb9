-- whether the rows of index_records change at all
SELECT (SELECT count(*) FROM (FROM held EXCEPT ALL FROM loaded.index_record))
     + (SELECT count(*) FROM (FROM loaded.index_record EXCEPT ALL FROM held)) > 0
