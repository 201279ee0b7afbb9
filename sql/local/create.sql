-- local store: create the tables
CREATE TABLE store_meta (
    version    INTEGER NOT NULL,
    dimensions INTEGER NOT NULL
);
-- A point id is unique because a write removes the points that it replaces
-- before it inserts. There is no unique index: DuckDB checks one too
-- early for a delete and an insert of one id in the same transaction, and it
-- would live in memory as a whole. The columns before payload repeat fields of
-- it in either layout, so that a scan reads no JSON. norm is the length of the
-- vector, which is stored as it was given.
CREATE TABLE points (
    point_id     VARCHAR NOT NULL,
    record_key   VARCHAR,
    kind         VARCHAR,
    ref          VARCHAR,
    type         VARCHAR,
    session_id   VARCHAR,
    workspace    VARCHAR,
    content_hash VARCHAR,
    text_hash    VARCHAR,
    payload_hash VARCHAR,
    embed_space  VARCHAR,
    payload      JSON NOT NULL,
    norm         DOUBLE NOT NULL,
    vector       FLOAT[{dimensions}] NOT NULL
);
INSERT INTO store_meta VALUES ({version}, {dimensions});
