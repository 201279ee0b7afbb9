-- lines that are readable and yet wrong: differing repeats, control records and markers that name nothing
CREATE OR REPLACE TEMP TABLE marker_line AS
SELECT l.session_key, l.seq, l.line, l.byte_offset, l.type, try_cast(named_seq(l.detail) AS BIGINT) AS target
FROM parsed.ledger_line l JOIN todo t USING (session_key)
WHERE l.repeat_no = 0 AND l.type IN ('memory_promoted', 'memory_promotion_declined') AND NOT t.invalid AND NOT t.gone;

CREATE OR REPLACE TEMP TABLE marker_named AS
SELECT m.*, l.seq IS NOT NULL AS valid
FROM marker_line m
LEFT JOIN parsed.ledger_line l ON l.session_key = m.session_key AND l.seq = m.target AND l.repeat_no = 0;

CREATE OR REPLACE TEMP TABLE again AS
SELECT l.* FROM parsed.ledger_line l JOIN todo t ON t.session_key = l.session_key AND NOT t.gone
WHERE l.repeat_no > 0;

INSERT INTO derived.line_fault
WITH repeated AS (
    SELECT a.session_key, a.line, a.byte_offset, a.type,
           'seq of line ' || f.line || ' again, and the lines differ' AS reason, true AS degrades
    FROM again a
    JOIN parsed.ledger_line f ON f.session_key = a.session_key AND f.seq = a.seq AND f.repeat_no = 0
    LEFT JOIN derived.phase_of_type pa ON pa.type = a.type
    LEFT JOIN derived.phase_of_type pf ON pf.type = f.type
    WHERE (a.ts, a.type, a.subject, a.detail, a.rationale, coalesce(a.phase, pa.phase, 1))
          <> (f.ts, f.type, f.subject, f.detail, f.rationale, coalesce(f.phase, pf.phase, 1))
), wrong AS (
    FROM repeated
    UNION ALL
    SELECT session_key, line, byte_offset, type, CASE WHEN is_withdrawal THEN 'withdrawal that names no earlier decision'
        ELSE 'reopening that names no phase from 1 to 8' END, true
    FROM named WHERE NOT valid
    UNION ALL
    SELECT session_key, line, byte_offset, type, 'marker that names no decision of the session', false FROM marker_named WHERE NOT valid
)
SELECT session_key, line, byte_offset, reason, left(masked_line(type), 160), degrades FROM wrong;
