-- scratch tables of one batch: new stamps, and which files of which sessions are replaced
CREATE OR REPLACE TEMP TABLE fresh_stamp (
    session_key BIGINT, file VARCHAR, size BIGINT, mtime_ns BIGINT, ctime_ns BIGINT, ino BIGINT,
    read_at_ns BIGINT, digest_hi BIGINT, digest_lo BIGINT);
CREATE OR REPLACE TEMP TABLE replaced (session_key BIGINT, file VARCHAR);
CREATE OR REPLACE TEMP TABLE moved (session_key BIGINT, gone BOOLEAN);
CREATE OR REPLACE TEMP TABLE memory_stage AS FROM parsed.memory_line LIMIT 0;
CREATE OR REPLACE TEMP TABLE fault_stage AS FROM parsed.fault LIMIT 0;
