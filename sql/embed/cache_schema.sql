-- Create the cache of embeddings
-- One row for each text that a model was given in a space. No primary key: an
-- index over random hashes would be held in memory whole, and a text that two
-- callers embedded at the same time may well be there twice.
CREATE TABLE IF NOT EXISTS vectors (
    embed_space VARCHAR NOT NULL,
    text_hash BLOB NOT NULL,
    vector FLOAT[] NOT NULL,
    last_used TIMESTAMP NOT NULL
);
