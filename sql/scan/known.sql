-- the sessions that are known, with the stamps of their three files, in order of their names
SELECT s.session_key, s.session_id, s.gone,
       m.size, m.mtime_ns, m.ctime_ns, m.ino, m.read_at_ns, m.digest_hi, m.digest_lo,
       l.size, l.mtime_ns, l.ctime_ns, l.ino, l.read_at_ns, l.digest_hi, l.digest_lo,
       q.size, q.mtime_ns, q.ctime_ns, q.ino, q.read_at_ns, q.digest_hi, q.digest_lo
FROM parsed.session s
JOIN parsed.stamp m ON m.session_key = s.session_key AND m.file = 'manifest'
JOIN parsed.stamp l ON l.session_key = s.session_key AND l.file = 'ledger'
JOIN parsed.stamp q ON q.session_key = s.session_key AND q.file = 'sql'
ORDER BY encode(s.session_id)
