-- solved pairs: one row for each session with a SQL file or an effective approval, and why it is none
INSERT INTO derived.solved
WITH approval AS (
    SELECT l.session_key, max(l.seq) AS seq
    FROM parsed.ledger_line l JOIN todo t USING (session_key)
    ANTI JOIN derived.ineffective i ON i.session_key = l.session_key AND i.seq = l.seq
    WHERE l.repeat_no = 0 AND l.type = 'sql_approved' AND NOT t.invalid AND NOT t.gone
    GROUP BY l.session_key
), reopened AS (
    SELECT DISTINCT o.session_key
    FROM in_force o JOIN approval a USING (session_key)
    WHERE NOT o.is_withdrawal AND o.phase <= 7 AND o.seq > a.seq
), promoted AS (
    SELECT l.session_key, l.subject,
           max(l.seq) FILTER (l.type = 'table_promoted') AS promoted_seq,
           max(l.seq) FILTER (l.type = 'table_excluded') AS excluded_seq
    FROM parsed.ledger_line l JOIN approval a USING (session_key)
    ANTI JOIN derived.ineffective i ON i.session_key = l.session_key AND i.seq = l.seq
    WHERE l.repeat_no = 0 AND l.type IN ('table_promoted', 'table_excluded')
    GROUP BY ALL
), tables AS (
    SELECT session_key, list(subject ORDER BY encode(subject)) AS tables
    FROM promoted WHERE promoted_seq > coalesce(excluded_seq, 0)
    GROUP BY session_key
), judged AS (
    SELECT t.session_key, coalesce(b.tables, CAST([] AS VARCHAR[])) AS tables,
           CASE WHEN s.state IN ('ok', 'degraded') THEN a.seq IS NOT NULL AND o.session_key IS NULL END AS approval_holds,
           CASE WHEN NOT s.usable THEN 'session is ' || s.state
                WHEN q.session_key IS NULL THEN 'no ' || r.sql_name
                WHEN q.fault IS NOT NULL THEN r.sql_name || ': ' || q.fault
                WHEN a.seq IS NULL THEN 'no effective sql_approved'
                WHEN o.session_key IS NOT NULL THEN 'reopened after the approval'
                WHEN is_blank(s.question_context) THEN 'the question is blank' END AS reason,
           m.status IN (SELECT status FROM derived.solved_status) AS status_fits
    FROM todo t
    JOIN derived.session_state s USING (session_key)
    CROSS JOIN derived.rule r
    LEFT JOIN parsed.manifest m USING (session_key)
    LEFT JOIN parsed.sql_final q USING (session_key)
    LEFT JOIN approval a USING (session_key)
    LEFT JOIN reopened o USING (session_key)
    LEFT JOIN tables b USING (session_key)
    WHERE NOT t.gone AND (q.session_key IS NOT NULL OR a.seq IS NOT NULL)
)
SELECT session_key, tables, approval_holds, reason IS NULL AND NOT coalesce(status_fits, false),
       coalesce(reason, CASE WHEN NOT coalesce(status_fits, false) THEN 'the status is not one of solved.statuses' END)
FROM judged;
