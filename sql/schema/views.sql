-- the public views: names, order and types of these columns are the contract
CREATE OR REPLACE VIEW sessions AS
SELECT s.session_id, r.artifacts_root || '/' || r.sessions_dir || '/' || s.session_id AS path,
       d.state, d.reason, m.status, m.created_at, m.updated_at, m.updated_by, m.question, m.database, m.schema,
       d.decisions, d.quarantined, m.created_utc, m.updated_utc, d.usable
FROM parsed.session s
JOIN derived.session_state d USING (session_key)
CROSS JOIN derived.rule r
LEFT JOIN parsed.manifest m USING (session_key);

CREATE OR REPLACE VIEW decisions AS
SELECT s.session_id, l.seq, l.ts, l.type, CAST(coalesce(l.phase, p.phase, 1) AS BIGINT) AS phase,
       l.subject, l.detail, l.rationale,
       l.type IN (r.withdrawal_type, r.reopening_type) AS is_control,
       CASE WHEN d.state = 'invalid' OR m.fault IS NOT NULL OR m.session_key IS NULL
              OR l.type IN (r.withdrawal_type, r.reopening_type) THEN NULL
            ELSE i.seq IS NULL END AS is_effective,
       i.reason AS ineffective_reason, i.by_seq AS ineffective_by_seq, CAST(l.extra AS JSON) AS extra, l.line
FROM parsed.ledger_line l
JOIN parsed.session s USING (session_key)
JOIN derived.session_state d USING (session_key)
CROSS JOIN derived.rule r
LEFT JOIN parsed.manifest m USING (session_key)
LEFT JOIN derived.phase_of_type p ON p.type = l.type
LEFT JOIN derived.ineffective i ON i.session_key = l.session_key AND i.seq = l.seq
WHERE l.repeat_no = 0;

CREATE OR REPLACE VIEW promotion_candidates AS
SELECT s.session_id, c.decision_seq, l.type, l.subject, l.detail, l.rationale, d.question_context,
       CAST([] AS VARCHAR[]) AS tables,
       CASE WHEN is_blank(l.subject) THEN CAST([] AS VARCHAR[]) ELSE [l.subject] END AS concepts,
       c.status, c.rank, c.duplicate_of_seq, c.reuses_memory_id
FROM derived.candidate c
JOIN parsed.session s USING (session_key)
JOIN derived.session_state d USING (session_key)
JOIN parsed.ledger_line l ON l.session_key = c.session_key AND l.seq = c.decision_seq AND l.repeat_no = 0
WHERE is_reusable(l.type);

-- Only indexable lines have a row of hashes.
CREATE OR REPLACE VIEW memories AS
SELECT l.id AS memory_id, l.ts, l.session_id, l.decision_seq, l.type, l.subject, l.detail, l.rationale,
       l.question_context, l.tables, l.concepts, h.content, h.content_hash, 'memory:' || l.id AS record_key,
       m.indexable, m.skip_reason, l.line
FROM parsed.memory_line l
JOIN derived.memory m USING (line)
LEFT JOIN derived.memory_hash h USING (line);

CREATE OR REPLACE VIEW solved_questions AS
SELECT s.session_id, 'solved:' || s.session_id AS record_key, d.question_context AS question, q.sql,
       CASE WHEN v.skip_reason IS NULL THEN v.tables END AS tables,
       CASE WHEN v.skip_reason IS NULL THEN h.content_hash END AS content_hash,
       v.skip_reason IS NULL AS indexable, v.skip_reason, v.approval_holds
FROM derived.solved v
JOIN parsed.session s USING (session_key)
JOIN derived.session_state d USING (session_key)
LEFT JOIN parsed.sql_final q USING (session_key)
LEFT JOIN derived.solved_hash h USING (session_key);

CREATE OR REPLACE VIEW session_memories AS
SELECT s.session_id, v.position, v.outcome, v.decision_seq, m.memory_id, l.subject, l.detail, l.rationale
FROM derived.session_memory v
JOIN parsed.session s USING (session_key)
JOIN parsed.ledger_line l ON l.session_key = v.session_key AND l.seq = v.decision_seq AND l.repeat_no = 0
LEFT JOIN (
    SELECT session_id, decision_seq, arg_min(id, line) AS memory_id FROM parsed.memory_line
    WHERE is_reusable(type) AND session_id <> '' AND decision_seq IS NOT NULL GROUP BY ALL
) m ON m.session_id = s.session_id AND m.decision_seq = v.decision_seq
WHERE is_reusable(l.type);

CREATE OR REPLACE VIEW index_records AS
SELECT record_key, kind, ref, content_hash, embed_space, point_id,
       (SELECT CAST(value AS TIMESTAMP) FROM meta WHERE key = 'index_seen_at') AS seen_at
FROM loaded.index_record;

CREATE OR REPLACE VIEW index_plan AS
SELECT r.run_id, s.record_key, s.kind, s.action, s.reason
FROM loaded.plan_run r JOIN loaded.plan_span s ON r.run_no BETWEEN s.first_no AND coalesce(s.last_no, r.run_no)
WHERE r.complete
UNION ALL
SELECT r.run_id, p.record_key, p.kind, p.action, p.reason
FROM loaded.plan_row p JOIN loaded.plan_run r USING (run_no);

CREATE OR REPLACE VIEW near_duplicate_pairs AS
SELECT run_id, kind, a_key, b_key, similarity, differs_in FROM loaded.near_duplicate_pair;

CREATE OR REPLACE VIEW near_duplicate_clusters AS
SELECT run_id, kind, cluster_id, record_key, is_representative, size FROM loaded.near_duplicate_cluster;

CREATE OR REPLACE VIEW quarantine AS
SELECT r.artifacts_root || '/' || CASE f.file WHEN 'registry' THEN r.registry_name ELSE
           r.sessions_dir || '/' || s.session_id || '/' || CASE f.file WHEN 'manifest' THEN r.manifest_name
           WHEN 'sql' THEN r.sql_name ELSE r.ledger_name END END AS path,
       f.line, f.byte_offset, f.reason, f.excerpt, s.session_id
FROM parsed.fault f
LEFT JOIN parsed.session s USING (session_key)
CROSS JOIN derived.rule r
WHERE f.session_key IS NULL OR NOT s.gone
UNION ALL
SELECT r.artifacts_root || '/' || r.sessions_dir || '/' || s.session_id || '/' || r.ledger_name,
       f.line, f.byte_offset, f.reason, f.excerpt, s.session_id
FROM derived.line_fault f
JOIN parsed.session s USING (session_key)
CROSS JOIN derived.rule r
UNION ALL
SELECT r.artifacts_root || '/' || r.sessions_dir || '/' || k.name, NULL, NULL, k.reason, NULL, NULL
FROM parsed.skipped k CROSS JOIN derived.rule r;

CREATE OR REPLACE VIEW runs AS
SELECT run_id, job, started_at, finished_at, status, exit_code, error, sessions_read, sessions_changed, embedded,
       cache_hits, inserted, updated, repayloaded, unchanged, withheld, failed
FROM loaded.run;
