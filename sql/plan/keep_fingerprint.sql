-- a fingerprint of the plan
SELECT count(*) || ':' || coalesce(bit_xor(h), 0) || ':' || coalesce(sum(h), 0)
FROM (SELECT hash(record_key, kind, action, reason) AS h FROM planned)
