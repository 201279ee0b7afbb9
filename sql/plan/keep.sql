-- keep the plan of this run, and of the 29 before it
INSERT INTO loaded.index_plan SELECT $1, record_key, kind, action, reason FROM planned;
