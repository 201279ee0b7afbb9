-- local store: write payloads beside the vectors that stay
UPDATE points
SET record_key   = i.record_key,
    kind         = i.kind,
    ref          = i.ref,
    type         = i.type,
    session_id   = i.session_id,
    workspace    = i.workspace,
    content_hash = i.content_hash,
    text_hash    = i.text_hash,
    payload_hash = i.payload_hash,
    embed_space  = i.embed_space,
    payload      = i.payload
FROM temp.main.incoming AS i
WHERE points.point_id = i.point_id;
