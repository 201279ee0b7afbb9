-- what is in quarantine, by reason
SELECT reason, count(*) FROM (
    SELECT reason FROM parsed.fault f LEFT JOIN parsed.session s USING (session_key) WHERE f.session_key IS NULL OR NOT s.gone
    UNION ALL SELECT reason FROM derived.line_fault
    UNION ALL SELECT reason FROM parsed.skipped)
GROUP BY reason ORDER BY count(*) DESC, reason
