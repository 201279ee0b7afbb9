-- whether the excerpts that are kept were made under another setting; $1 whether in full
SELECT count(*) > 0 FROM derived.rule WHERE excerpt_full <> $1
