-- put the new stamps in the place of the old ones
DELETE FROM parsed.stamp s USING fresh_stamp f WHERE f.session_key = s.session_key AND f.file = s.file;
INSERT INTO parsed.stamp FROM fresh_stamp;
