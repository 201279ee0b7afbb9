-- forget the names that were not followed
DELETE FROM parsed.skipped
