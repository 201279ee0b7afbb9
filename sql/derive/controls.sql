-- control records of the sessions to derive: what they name, and which of them are in force
CREATE OR REPLACE TEMP TABLE control AS
SELECT l.session_key, l.seq, l.line, l.byte_offset, l.type, l.type = r.withdrawal_type AS is_withdrawal,
       CASE WHEN l.type = r.withdrawal_type THEN
           try_cast(CASE WHEN named_seq(l.detail) <> '' THEN named_seq(l.detail) ELSE named_seq(l.subject) END AS BIGINT) END AS target,
       CASE WHEN l.type <> r.withdrawal_type THEN
           try_cast(CASE WHEN named_phase(l.subject) <> '' THEN named_phase(l.subject) ELSE named_phase(l.detail) END AS BIGINT) END AS phase
FROM parsed.ledger_line l
JOIN todo t USING (session_key)
CROSS JOIN derived.rule r
WHERE l.repeat_no = 0 AND l.type IN (r.withdrawal_type, r.reopening_type) AND NOT t.invalid AND NOT t.gone;

-- A withdrawal has to name an earlier decision, a reopening a phase from 1 to 8.
CREATE OR REPLACE TEMP TABLE named AS
SELECT c.*, CASE WHEN c.is_withdrawal THEN l.seq IS NOT NULL ELSE coalesce(c.phase BETWEEN 1 AND 8, false) END AS valid,
       l.type IN (SELECT unnest([withdrawal_type, reopening_type]) FROM derived.rule) AS names_control
FROM control c
LEFT JOIN parsed.ledger_line l
  ON l.session_key = c.session_key AND l.seq = c.target AND l.seq < c.seq AND l.repeat_no = 0;

-- Where withdrawals name control records, who is in force is settled from the highest seq down:
-- nothing above it can withdraw the highest one, and each that stands takes its target out.
CREATE OR REPLACE TEMP TABLE out_of_force AS
WITH chained AS (
    SELECT DISTINCT session_key FROM named WHERE valid AND names_control
), settled AS (
    SELECT n.session_key, list_reduce(
        list({'seq': n.seq, 'target': n.target, 'out': CAST([] AS BIGINT[])} ORDER BY n.seq DESC),
        lambda taken, w: CASE WHEN list_contains(taken.out, w.seq) THEN taken
            ELSE {'seq': w.seq, 'target': w.target, 'out': list_append(taken.out, w.target)} END,
        {'seq': CAST(0 AS BIGINT), 'target': CAST(0 AS BIGINT), 'out': CAST([] AS BIGINT[])}).out AS seqs
    FROM named n JOIN chained USING (session_key)
    WHERE n.valid AND n.is_withdrawal
    GROUP BY n.session_key
)
SELECT DISTINCT session_key, unnest(seqs) AS seq FROM settled;

CREATE OR REPLACE TEMP TABLE in_force AS
SELECT n.session_key, n.seq, n.is_withdrawal, n.target, n.phase
FROM named n ANTI JOIN out_of_force o ON o.session_key = n.session_key AND o.seq = n.seq
WHERE n.valid;
