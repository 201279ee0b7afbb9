-- local store: the table that payloads without a vector are collected in
CREATE OR REPLACE TEMP TABLE incoming (
    point_id     VARCHAR,
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
    payload      VARCHAR,
    norm         DOUBLE,
    vector       FLOAT[{dimensions}]
);
