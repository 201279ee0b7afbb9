-- local store: add the places that satisfy one filter
-- beside and within are the paths of the field at the top level and in the
-- metadata. A field is a string equal to the value or a list with such a
-- string. The hint is the value as it must occur in the payload's text when
-- the value needs no escape there, and empty otherwise: looking for it first
-- spares the parsing of nearly every payload.
INSERT INTO temp.main.matching
WITH fields AS (
    SELECT
        rowid AS place,
        coalesce(nullif(json_extract(payload, $beside), 'null'), json_extract(payload, $within)) AS field
    FROM points
    WHERE contains(payload::VARCHAR, $hint)
)
SELECT place
FROM fields
WHERE CASE json_type(field)
    WHEN 'VARCHAR' THEN json_extract_string(field, '$') = $value
    WHEN 'ARRAY' THEN list_contains(
        list_transform(
            list_filter(json_extract(field, '$[*]'), lambda e: json_type(e) = 'VARCHAR'),
            lambda e: json_extract_string(e, '$')),
        $value)
    ELSE false
END;
