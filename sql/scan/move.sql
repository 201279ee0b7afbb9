-- mark sessions as gone, or as back
UPDATE parsed.session SET gone = m.gone FROM moved m WHERE m.session_key = parsed.session.session_key
