-- one session: whether it is known, usable, and in which state
SELECT state, coalesce(reason, ''), usable FROM sessions WHERE session_id = $1
