-- sessions whose approval is known to hold no longer; $1 their ids
SELECT s.session_id FROM sessions s
LEFT JOIN solved_questions q USING (session_id)
WHERE s.session_id IN (SELECT unnest(CAST($1 AS VARCHAR[])))
  AND s.usable AND NOT coalesce(q.approval_holds, false)
