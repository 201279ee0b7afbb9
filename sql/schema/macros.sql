-- macros that the rules share: reusable types, white space, whole words
-- The one invariant: only this type is reusable. A test holds it against the program's constant.
CREATE MACRO is_reusable(t) AS t = 'concept_clarified';

-- Unicode's White_Space, which RE2's \s is not.
-- A first character that is visible ASCII settles nearly all, without the regular expression.
CREATE MACRO is_blank(s) AS CASE WHEN s = '' THEN true WHEN ascii(s) BETWEEN 33 AND 126 THEN false ELSE NOT regexp_matches(s,
    '[^\x{09}-\x{0d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]') END;
CREATE MACRO trimmed(s) AS regexp_replace(s,
    '^[\x{09}-\x{0d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]+|[\x{09}-\x{0d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]+$', '', 'g');
-- nfc_normalize ends at a NUL; nothing composes across one, so that the parts may be taken one by one.
CREATE MACRO nfc(s) AS CASE WHEN contains(s, chr(0))
    THEN array_to_string(list_transform(string_split(s, chr(0)), lambda part: nfc_normalize(part)), chr(0))
    ELSE nfc_normalize(s) END;
-- Two texts that say the same have one wording: NFC, lower case, runs of white space to one space, trimmed.
-- Nearly no text has a run of white space, and looking for one costs a tenth of replacing it.
CREATE MACRO wording(s) AS CASE
    WHEN regexp_matches(s, '[\x{09}-\x{0d}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]|  ')
    THEN trim(regexp_replace(lower(nfc(s)),
        '[\x{09}-\x{0d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]+', ' ', 'g'), ' ')
    ELSE trim(lower(nfc(s)), ' ') END;
-- The wording of a decision as 128 bits: texts are long, and are only compared for equality.
CREATE MACRO wording_key(subject, detail) AS
    md5_number(strlen(wording(subject)) || ':' || wording(subject) || wording(detail));

-- The first whole word of its form: no letter, digit or underscore before or after. '' where there is none.
-- The plain tests before the regular expression only save its time.
CREATE MACRO named_seq(s) AS CASE WHEN NOT contains(s, 'seq:') THEN ''
    WHEN regexp_full_match(s, 'seq:[0-9]+') THEN substr(s, 5)
    ELSE regexp_extract(s, '(?:^|[^\p{L}\p{Nd}_])seq:([0-9]+)(?:[^\p{L}\p{Nd}_]|$)', 1) END;
CREATE MACRO named_phase(s) AS CASE WHEN NOT contains(s, 'phase:') THEN ''
    WHEN regexp_full_match(s, 'phase:[0-9]+') THEN substr(s, 7)
    ELSE regexp_extract(s, '(?:^|[^\p{L}\p{Nd}_])phase:([0-9]+)(?:[^\p{L}\p{Nd}_]|$)', 1) END;
CREATE MACRO named_memory(s) AS CASE WHEN NOT contains(s, 'mem-') THEN ''
    ELSE regexp_extract(s, '(?:^|[^\p{L}\p{Nd}_])(mem-[0-9]+)(?:[^\p{L}\p{Nd}_]|$)', 1) END;

-- A line as it may be shown: its shape, and no text.
CREATE MACRO masked_line(type) AS
    '{"seq": 0, "ts": "xxx", "type": "' || regexp_replace(regexp_replace(type, '\p{Nd}', '0', 'g'), '[^_0\p{Nd}]', 'x', 'g') || '", ...}';
