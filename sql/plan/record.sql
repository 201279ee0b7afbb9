-- record what the index holds; $1 the workspace
INSERT INTO loaded.index_record FROM held($1)
