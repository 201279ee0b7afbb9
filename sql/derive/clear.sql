-- remove what was derived of the sessions that are derived again; a gone session keeps what its decisions were
DELETE FROM derived.session_state WHERE session_key IN (SELECT session_key FROM todo);
DELETE FROM derived.ineffective WHERE session_key IN (SELECT session_key FROM todo WHERE NOT gone);
DELETE FROM derived.line_fault WHERE session_key IN (SELECT session_key FROM todo);
DELETE FROM derived.marker WHERE session_key IN (SELECT session_key FROM todo);
DELETE FROM derived.citation WHERE session_key IN (SELECT session_key FROM todo);
DELETE FROM derived.candidate WHERE session_key IN (SELECT session_key FROM todo);
DELETE FROM derived.session_memory WHERE session_key IN (SELECT session_key FROM todo);
DELETE FROM derived.solved WHERE session_key IN (SELECT session_key FROM todo);
DELETE FROM derived.solved_hash WHERE session_key IN (SELECT session_key FROM todo);
