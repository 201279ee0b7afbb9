-- what could be promoted: effective, reusable, not blank; promoted, declined, duplicate, then ranked
CREATE OR REPLACE TEMP TABLE promotable AS
SELECT l.session_key, l.seq, l.type, wording(l.subject) AS subject, wording(l.detail) AS detail,
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
    SELECT *, min(seq) OVER same AS first_seq, min(seq) FILTER (outcome IS NOT NULL) OVER same AS decided_seq
    FROM decided
    WINDOW same AS (PARTITION BY session_key, type, subject, detail)
), told AS (
    SELECT *, CASE WHEN outcome IS NULL THEN
        least(CASE WHEN first_seq < seq THEN first_seq END, decided_seq) END AS duplicate_of
    FROM alike
), ranked AS (
    SELECT *, CASE WHEN outcome IS NULL AND duplicate_of IS NULL THEN
        row_number() OVER (PARTITION BY session_key, outcome IS NULL AND duplicate_of IS NULL ORDER BY seq) END AS rank
    FROM told
)
SELECT k.session_key, k.seq,
       CASE WHEN outcome IS NOT NULL THEN outcome WHEN duplicate_of IS NOT NULL THEN 'duplicate'
            WHEN rank <= r.candidate_cap THEN 'proposed' ELSE 'overflow' END,
       rank, duplicate_of, m.memory_id
FROM ranked k
CROSS JOIN derived.rule r
LEFT JOIN derived.memory m ON m.memory_id = k.cited AND m.indexable;
