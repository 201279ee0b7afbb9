-- the rules changed: every session is to be derived again
DELETE FROM derived.session_state;
