-- forget what the index held
DELETE FROM loaded.index_record
