-- excerpts in full, where the setting asks for them
UPDATE derived.line_fault SET excerpt = left(CAST(to_json({'seq': l.seq, 'type': l.type, 'subject': l.subject,
    'detail': l.detail, 'rationale': l.rationale}) AS VARCHAR), 160)
FROM parsed.ledger_line l
WHERE l.session_key = derived.line_fault.session_key AND l.line = derived.line_fault.line
  AND derived.line_fault.session_key IN (SELECT session_key FROM todo)
  AND (SELECT excerpt_full FROM derived.rule);
