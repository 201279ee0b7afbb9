-- excerpts in full or masked no longer: the files that have some are read again
-- What an excerpt shows is nowhere but in its file, and what must not be shown any more goes at once.
UPDATE parsed.stamp SET size = -2, digest_hi = 0, digest_lo = -1
WHERE (session_key, file) IN (SELECT session_key, file FROM parsed.fault WHERE line IS NOT NULL);
UPDATE parsed.fault SET excerpt = NULL;
DELETE FROM meta WHERE key = 'registry_stamp';
