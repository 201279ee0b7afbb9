-- the state of each session, why, and the question that it was last worked on
INSERT INTO derived.session_state
WITH faults AS (
    SELECT session_key, line, reason, degrades FROM parsed.fault JOIN todo USING (session_key)
    WHERE file = 'ledger'
    UNION ALL
    SELECT session_key, line, reason, degrades FROM derived.line_fault JOIN todo USING (session_key)
), worst AS (
    SELECT session_key, count(*) FILTER (line IS NOT NULL) AS quarantined,
           count(*) FILTER (degrades) AS degrading,
           arg_min(coalesce('line ' || line || ': ', '') || reason, coalesce(line, 0)) FILTER (degrades) AS first_reason
    FROM faults GROUP BY session_key
), counted AS (
    SELECT session_key, count(*) FILTER (repeat_no = 0) AS decisions
    FROM parsed.ledger_line JOIN todo USING (session_key) GROUP BY session_key
), rewritten AS (
    SELECT l.session_key, arg_max(l.detail, l.seq) AS question
    FROM parsed.ledger_line l
    JOIN todo t USING (session_key)
    ANTI JOIN derived.ineffective i ON i.session_key = l.session_key AND i.seq = l.seq
    WHERE l.repeat_no = 0 AND l.type = 'question_rewritten' AND NOT is_blank(l.detail)
    GROUP BY l.session_key
), stated AS (
    SELECT t.session_key, t.gone, t.accepted, t.invalid,
           CASE WHEN t.gone THEN 'gone' WHEN t.invalid THEN 'invalid'
                WHEN w.degrading > 0 THEN 'degraded' ELSE 'ok' END AS state,
           CASE WHEN t.gone THEN 'not there in the last complete scan'
                WHEN t.invalid THEN coalesce(m.fault, 'no manifest')
                WHEN w.degrading > 0 THEN w.first_reason
                    || CASE WHEN w.degrading > 1 THEN ' (and ' || (w.degrading - 1) || ' more)' ELSE '' END
           END AS reason,
           coalesce(c.decisions, 0) AS decisions,
           CASE WHEN t.gone THEN 0 ELSE coalesce(w.quarantined, 0) END AS quarantined,
           CASE WHEN NOT t.invalid THEN coalesce(q.question, m.question, '') END AS question_context
    FROM todo t
    LEFT JOIN parsed.manifest m USING (session_key)
    LEFT JOIN worst w USING (session_key)
    LEFT JOIN counted c USING (session_key)
    LEFT JOIN rewritten q USING (session_key)
)
SELECT session_key, state, reason, state = 'ok' OR (state = 'degraded' AND accepted), gone, decisions, quarantined,
       question_context
FROM stated;

INSERT INTO derived.marker
SELECT m.session_key, m.target, CASE arg_max(m.type, m.seq) WHEN 'memory_promoted' THEN 'approved' ELSE 'declined' END, max(m.seq)
FROM marker_named m
ANTI JOIN derived.ineffective i ON i.session_key = m.session_key AND i.seq = m.seq
WHERE m.valid
GROUP BY m.session_key, m.target;
