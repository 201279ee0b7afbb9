-- the plan, row by row, what needs nothing last
SELECT record_key, kind, action, reason FROM planned ORDER BY action = 'unchanged', kind, action, record_key
