-- number the run whose plan is kept; $1 its id, $2 whether it planned everything
INSERT INTO loaded.plan_run SELECT coalesce(max(run_no), 0) + 1, $1, $2 FROM loaded.plan_run
