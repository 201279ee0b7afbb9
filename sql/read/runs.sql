-- the runs, newest file of them: a publication that is otherwise unchanged has only this one anew
CREATE TEMP TABLE runs AS FROM read_parquet($1)
