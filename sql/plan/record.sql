-- record what the index holds
DELETE FROM loaded.index_record;
INSERT INTO loaded.index_record FROM held;
