-- forget plans older than the last 30 runs
DELETE FROM loaded.plan_run WHERE run_no <= (SELECT max(run_no) - 30 FROM loaded.plan_run);
DELETE FROM loaded.plan_row WHERE run_no < (SELECT min(run_no) FROM loaded.plan_run);
DELETE FROM loaded.plan_span WHERE last_no < (SELECT min(run_no) FROM loaded.plan_run);
