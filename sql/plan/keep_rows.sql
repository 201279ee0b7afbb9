-- the plan of a narrowed run
INSERT INTO loaded.plan_row
SELECT n.run_no, p.record_key, p.kind, p.action, p.reason
FROM planned p CROSS JOIN (SELECT max(run_no) AS run_no FROM loaded.plan_run) n;
