-- tables of the warehouse: parsed (one set of rows a file), derived (computed from parsed), loaded (what the index held)
CREATE SCHEMA parsed;
CREATE SCHEMA derived;
CREATE SCHEMA loaded;

-- Key and value of what concerns the whole file: versions, fingerprints, the registry's stamp.
CREATE TABLE meta (key VARCHAR NOT NULL, value VARCHAR NOT NULL);

-- A session keeps its key for the life of the file, also while it is gone.
CREATE TABLE parsed.session (session_key BIGINT NOT NULL, session_id VARCHAR NOT NULL, gone BOOLEAN NOT NULL);

-- What the scan that last read a file saw of it. size -1: there was none.
CREATE TABLE parsed.stamp (
    session_key BIGINT, file VARCHAR, size BIGINT, mtime_ns BIGINT, ctime_ns BIGINT, ino BIGINT,
    read_at_ns BIGINT, digest_hi BIGINT, digest_lo BIGINT);

CREATE TABLE parsed.manifest (
    session_key BIGINT, scan_id BIGINT, fault VARCHAR, id VARCHAR, created_at VARCHAR, question VARCHAR,
    database VARCHAR, schema VARCHAR, status VARCHAR, updated_at VARCHAR, updated_by VARCHAR,
    created_utc TIMESTAMP, updated_utc TIMESTAMP);

CREATE TABLE parsed.ledger (session_key BIGINT, scan_id BIGINT, fault VARCHAR, lines BIGINT);

-- Every readable line. repeat_no counts the earlier lines of the file with the same seq.
CREATE TABLE parsed.ledger_line (
    session_key BIGINT, scan_id BIGINT, line BIGINT, byte_offset BIGINT, seq BIGINT, repeat_no BIGINT,
    ts TIMESTAMP, type VARCHAR, subject VARCHAR, detail VARCHAR, rationale VARCHAR, phase TINYINT, extra VARCHAR);

CREATE TABLE parsed.sql_final (session_key BIGINT, scan_id BIGINT, fault VARCHAR, sql VARCHAR);

-- What the readers could not read. session_key NULL: the registry. line NULL: the whole file.
CREATE TABLE parsed.fault (
    session_key BIGINT, file VARCHAR, scan_id BIGINT, line BIGINT, byte_offset BIGINT, reason VARCHAR,
    excerpt VARCHAR, degrades BOOLEAN);

-- Names directly under the sessions directory that were not followed.
CREATE TABLE parsed.skipped (name VARCHAR, reason VARCHAR);

CREATE TABLE parsed.memory_line (
    line BIGINT, byte_offset BIGINT, id VARCHAR, ts TIMESTAMP, session_id VARCHAR, decision_seq BIGINT,
    type VARCHAR, subject VARCHAR, detail VARCHAR, rationale VARCHAR, question_context VARCHAR,
    tables VARCHAR[], concepts VARCHAR[], extra VARCHAR);

-- The settings that the rules need: one row, and one row a type.
CREATE TABLE derived.rule (
    withdrawal_type VARCHAR, reopening_type VARCHAR, reopen_inclusive BOOLEAN, candidate_cap BIGINT,
    artifacts_root VARCHAR, sessions_dir VARCHAR, manifest_name VARCHAR, ledger_name VARCHAR, sql_name VARCHAR,
    registry_name VARCHAR, excerpt_full BOOLEAN);
CREATE TABLE derived.phase_of_type (type VARCHAR, phase TINYINT);
CREATE TABLE derived.solved_status (status VARCHAR);

-- A session without a row here has to be derived (again).
CREATE TABLE derived.session_state (
    session_key BIGINT, state VARCHAR, reason VARCHAR, usable BOOLEAN, gone BOOLEAN, decisions BIGINT,
    quarantined BIGINT, question_context VARCHAR);

-- Only what is not effective: most decisions are, and the table stays narrow.
CREATE TABLE derived.ineffective (session_key BIGINT, seq BIGINT, reason VARCHAR, by_seq BIGINT);
CREATE TABLE derived.line_fault (
    session_key BIGINT, line BIGINT, byte_offset BIGINT, reason VARCHAR, excerpt VARCHAR, degrades BOOLEAN);
-- The latest effective marker that names a decision.
CREATE TABLE derived.marker (session_key BIGINT, decision_seq BIGINT, outcome VARCHAR, marker_seq BIGINT);
-- Memory ids in rationales of candidates: what a change of the registry can change.
CREATE TABLE derived.citation (session_key BIGINT, decision_seq BIGINT, memory_id VARCHAR);
CREATE TABLE derived.candidate (
    session_key BIGINT, decision_seq BIGINT, status VARCHAR, rank BIGINT, duplicate_of_seq BIGINT,
    reuses_memory_id VARCHAR);
CREATE TABLE derived.session_memory (session_key BIGINT, position BIGINT, outcome VARCHAR, decision_seq BIGINT);
CREATE TABLE derived.solved (
    session_key BIGINT, tables VARCHAR[], approval_holds BOOLEAN, status_only BOOLEAN, skip_reason VARCHAR);
CREATE TABLE derived.memory (line BIGINT, memory_id VARCHAR, indexable BOOLEAN, skip_reason VARCHAR);

-- Hashes of what would be written, made once when a source changes, and the bytes of its texts.
CREATE TABLE derived.solved_hash (
    session_key BIGINT, content_hash VARCHAR, text_hash VARCHAR, payload_hash VARCHAR, bytes BIGINT);
CREATE TABLE derived.memory_hash (
    line BIGINT, content VARCHAR, content_hash VARCHAR, text_hash VARCHAR, payload_hash VARCHAR, bytes BIGINT);

CREATE TABLE loaded.index_record (
    record_key VARCHAR, kind VARCHAR, ref VARCHAR, content_hash VARCHAR, embed_space VARCHAR, point_id VARCHAR);
-- Plans repeat from night to night: a row stands once for all the runs from first_no to last_no (NULL: still so)
-- that planned everything, so that an unchanged night adds one row. A narrowed run has rows of its own.
CREATE TABLE loaded.plan_run (run_no BIGINT, run_id VARCHAR, complete BOOLEAN);
CREATE TABLE loaded.plan_span (
    record_key VARCHAR, kind VARCHAR, action VARCHAR, reason VARCHAR, first_no BIGINT, last_no BIGINT);
CREATE TABLE loaded.plan_row (run_no BIGINT, record_key VARCHAR, kind VARCHAR, action VARCHAR, reason VARCHAR);
CREATE TABLE loaded.near_duplicate_pair (
    run_id VARCHAR, kind VARCHAR, a_key VARCHAR, b_key VARCHAR, similarity DOUBLE, differs_in VARCHAR);
CREATE TABLE loaded.near_duplicate_cluster (
    run_id VARCHAR, kind VARCHAR, cluster_id VARCHAR, record_key VARCHAR, is_representative BOOLEAN, size BIGINT);
CREATE TABLE loaded.run (
    run_id VARCHAR, job VARCHAR, started_at TIMESTAMP, finished_at TIMESTAMP, status VARCHAR, exit_code BIGINT,
    error VARCHAR, sessions_read BIGINT, sessions_changed BIGINT, embedded BIGINT, cache_hits BIGINT,
    inserted BIGINT, updated BIGINT, repayloaded BIGINT, unchanged BIGINT, withheld BIGINT, failed BIGINT);
