-- a complete plan that differs: close the rows that it no longer has, open those that are new
CREATE OR REPLACE TEMP TABLE span_now AS SELECT max(run_no) AS run_no FROM loaded.plan_run;
UPDATE loaded.plan_span SET last_no = (SELECT run_no - 1 FROM span_now)
WHERE last_no IS NULL AND NOT EXISTS (
    SELECT 1 FROM planned p WHERE p.record_key = loaded.plan_span.record_key
      AND p.action = loaded.plan_span.action AND p.reason = loaded.plan_span.reason);
INSERT INTO loaded.plan_span
SELECT p.record_key, p.kind, p.action, p.reason, n.run_no, NULL
FROM planned p CROSS JOIN span_now n
ANTI JOIN (SELECT * FROM loaded.plan_span WHERE last_no IS NULL) s
  ON s.record_key = p.record_key AND s.action = p.action AND s.reason = p.reason;
