-- remove the rows of the files that were read again, and what was derived from them
DELETE FROM parsed.manifest WHERE session_key IN (SELECT session_key FROM replaced WHERE file = 'manifest');
DELETE FROM parsed.ledger WHERE session_key IN (SELECT session_key FROM replaced WHERE file = 'ledger');
DELETE FROM parsed.ledger_line WHERE session_key IN (SELECT session_key FROM replaced WHERE file = 'ledger');
DELETE FROM parsed.sql_final WHERE session_key IN (SELECT session_key FROM replaced WHERE file = 'sql');
DELETE FROM parsed.fault f USING replaced r WHERE f.session_key = r.session_key AND f.file = r.file;
DELETE FROM derived.session_state WHERE session_key IN (SELECT session_key FROM replaced);
