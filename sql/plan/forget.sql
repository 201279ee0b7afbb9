-- plans older than the last 30 runs
DELETE FROM loaded.index_plan WHERE run_id NOT IN (SELECT DISTINCT run_id FROM loaded.index_plan ORDER BY run_id DESC LIMIT 30)
