-- local store: the places that satisfy filters on fields without a column
CREATE OR REPLACE TEMP TABLE matching (place BIGINT);
