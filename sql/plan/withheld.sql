-- why records are held back
SELECT reason, count(*) FROM planned WHERE action IN ('withheld', 'foreign') GROUP BY reason ORDER BY count(*) DESC, reason
