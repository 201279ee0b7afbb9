-- scratch tables of one plan: what the index holds, what was refused or retracted before, what was applied
CREATE OR REPLACE TEMP TABLE seen (
    point_id VARCHAR, record_key VARCHAR, kind VARCHAR, ref VARCHAR, type VARCHAR, session_id VARCHAR,
    workspace VARCHAR, content_hash VARCHAR, text_hash VARCHAR, payload_hash VARCHAR, embed_space VARCHAR);
CREATE OR REPLACE TEMP TABLE refusal (record_key VARCHAR, content_hash VARCHAR, embed_space VARCHAR, reason VARCHAR);
CREATE OR REPLACE TEMP TABLE retraction (record_key VARCHAR);
CREATE OR REPLACE TEMP TABLE applied (
    record_key VARCHAR, kind VARCHAR, ref VARCHAR, content_hash VARCHAR, embed_space VARCHAR, point_id VARCHAR);
