-- decisions that a withdrawal in force names, and decisions that a reopening in force made stale
INSERT INTO derived.ineffective
WITH decision AS (
    SELECT l.session_key, l.seq, coalesce(l.phase, p.phase, 1) AS phase
    FROM parsed.ledger_line l
    JOIN (SELECT DISTINCT session_key FROM in_force) USING (session_key)
    CROSS JOIN derived.rule r
    LEFT JOIN derived.phase_of_type p ON p.type = l.type
    WHERE l.repeat_no = 0 AND l.type NOT IN (r.withdrawal_type, r.reopening_type)
), withdrawn AS (
    SELECT d.session_key, d.seq, min(w.seq) AS by_seq
    FROM decision d JOIN in_force w ON w.session_key = d.session_key AND w.target = d.seq
    WHERE w.is_withdrawal
    GROUP BY ALL
), stale AS (
    SELECT d.session_key, d.seq, min(o.seq) AS by_seq
    FROM decision d
    JOIN in_force o ON o.session_key = d.session_key AND o.seq > d.seq
    CROSS JOIN derived.rule r
    WHERE NOT o.is_withdrawal AND (o.phase < d.phase OR (r.reopen_inclusive AND o.phase = d.phase))
    GROUP BY ALL
)
SELECT session_key, seq, 'withdrawn', by_seq FROM withdrawn
UNION ALL
SELECT s.session_key, s.seq, 'stale', s.by_seq
FROM stale s ANTI JOIN withdrawn w ON w.session_key = s.session_key AND w.seq = s.seq;
