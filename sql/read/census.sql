-- the corpus in numbers
SELECT (SELECT count(*) FROM derived.session_state WHERE state = 'ok'),
       (SELECT count(*) FROM derived.session_state WHERE state = 'degraded'),
       (SELECT count(*) FROM derived.session_state WHERE state = 'invalid'),
       (SELECT count(*) FROM derived.session_state WHERE state = 'gone'),
       (SELECT coalesce(sum(decisions), 0)::BIGINT FROM derived.session_state)
