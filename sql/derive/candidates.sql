-- what could be promoted: effective, reusable, not blank; promoted, declined, duplicate, then ranked
CREATE OR REPLACE TEMP TABLE promotable AS
SELECT l.session_key, l.seq, wording_key(l.subject, l.detail) AS said,
       nullif(named_memory(l.rationale), '') AS cited
FROM parsed.ledger_line l
JOIN todo t USING (session_key)
JOIN derived.session_state s ON s.session_key = l.session_key AND s.usable
ANTI JOIN derived.ineffective i ON i.session_key = l.session_key AND i.seq = l.seq
WHERE l.repeat_no = 0 AND is_reusable(l.type) AND NOT (is_blank(l.subject) AND is_blank(l.detail));

INSERT INTO derived.citation SELECT session_key, seq, cited FROM promotable WHERE cited IS NOT NULL;

INSERT INTO derived.candidate
WITH registered AS (
    SELECT DISTINCT t.session_key, m.decision_seq AS seq
    FROM parsed.memory_line m JOIN todo t ON t.session_id = m.session_id
    WHERE is_reusable(m.type) AND m.decision_seq IS NOT NULL
), decided AS (
    SELECT p.*, CASE WHEN r.seq IS NOT NULL OR k.outcome = 'approved' THEN 'promoted'
                     WHEN k.outcome = 'declined' THEN 'declined' END AS outcome
    FROM promotable p
    LEFT JOIN registered r ON r.session_key = p.session_key AND r.seq = p.seq
    LEFT JOIN derived.marker k ON k.session_key = p.session_key AND k.decision_seq = p.seq
), alike AS (
    SELECT session_key, said, min(seq) AS first_seq, min(seq) FILTER (outcome IS NOT NULL) AS decided_seq
    FROM decided GROUP BY ALL
), told AS (
    SELECT d.*, CASE WHEN d.outcome IS NULL THEN
        least(CASE WHEN a.first_seq < d.seq THEN a.first_seq END, a.decided_seq) END AS duplicate_of
    FROM decided d JOIN alike a ON a.session_key = d.session_key AND a.said = d.said
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY session_key ORDER BY seq) AS rank FROM told
    WHERE outcome IS NULL AND duplicate_of IS NULL
    UNION ALL
    SELECT *, NULL FROM told WHERE outcome IS NOT NULL OR duplicate_of IS NOT NULL
)
SELECT k.session_key, k.seq,
       CASE WHEN outcome IS NOT NULL THEN outcome WHEN duplicate_of IS NOT NULL THEN 'duplicate'
            WHEN rank <= r.candidate_cap THEN 'proposed' ELSE 'overflow' END,
       rank, duplicate_of, m.memory_id
FROM ranked k
CROSS JOIN derived.rule r
LEFT JOIN derived.memory m ON m.memory_id = k.cited AND m.indexable;
