-- what a session summary shows: approved, then declined, without what is the name of a table
INSERT INTO derived.session_memory
WITH shown AS (
    SELECT k.session_key, k.outcome, k.decision_seq
    FROM derived.marker k
    JOIN todo t USING (session_key)
    JOIN parsed.ledger_line l ON l.session_key = k.session_key AND l.seq = k.decision_seq AND l.repeat_no = 0
    WHERE is_reusable(l.type)
      AND NOT regexp_full_match(lower(trimmed(l.subject)), '(fact|dim)_[\p{L}\p{Nd}_]+')
      AND NOT EXISTS (
        SELECT 1 FROM parsed.ledger_line d
        ANTI JOIN derived.ineffective i ON i.session_key = d.session_key AND i.seq = d.seq
        WHERE d.session_key = k.session_key AND d.repeat_no = 0 AND d.type IN ('table_promoted', 'table_excluded')
          AND lower(d.subject) = lower(trimmed(l.subject)))
)
SELECT session_key, row_number() OVER (PARTITION BY session_key ORDER BY outcome, decision_seq), outcome, decision_seq
FROM shown;
