-- local store: does the file hold a store, and other tables
SELECT
    count(*) FILTER (WHERE table_name = 'store_meta') > 0 AS is_store,
    count(*) > 0 AS has_tables
FROM duckdb_tables()
WHERE database_name = current_database();
