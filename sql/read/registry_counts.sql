-- registry lines, and how many of them are indexable
SELECT count(*), count(*) FILTER (indexable) FROM derived.memory
