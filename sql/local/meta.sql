-- local store: version and dimensions
SELECT version, dimensions FROM store_meta;
