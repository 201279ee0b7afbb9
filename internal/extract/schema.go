package extract

import "github.com/apache/arrow-go/v18/arrow"

// The schemas of what leaves this package. Names, order and types are those of
// the tables that receive them: int64 is BIGINT, utf8 VARCHAR, timestamp[us]
// without a zone TIMESTAMP (UTC), int8 TINYINT.
//
// session_key is the caller's number of a session, scan_id that of the scan.

// StampSchema has a row for each file of a session whose stamp changed: size is
// -1 when there is no such file, times are nanoseconds of the epoch, digest_hi
// and digest_lo the first 16 bytes of the SHA-256 of the content. See Stamp for
// files that could not be read.
func StampSchema() *arrow.Schema {
	return schema(required("session_key", bigint), required("file", varchar), required("size", bigint),
		required("mtime_ns", bigint), required("ctime_ns", bigint), required("ino", bigint),
		required("read_at_ns", bigint), required("digest_hi", bigint), required("digest_lo", bigint))
}

// ManifestSchema has a row for each manifest that changed, or is missing. Keys
// the manifest lacks are empty strings; when nothing could be read they are all
// NULL, and fault says why. created_utc and updated_utc are NULL when the text
// is no date and time.
func ManifestSchema() *arrow.Schema {
	return schema(required("session_key", bigint), required("scan_id", bigint), nullable("fault", varchar),
		nullable("id", varchar), nullable("created_at", varchar), nullable("question", varchar),
		nullable("database", varchar), nullable("schema", varchar), nullable("status", varchar),
		nullable("updated_at", varchar), nullable("updated_by", varchar),
		nullable("created_utc", timestamp), nullable("updated_utc", timestamp))
}

// LedgerSchema has a row for each ledger that changed, or is missing: fault is
// set when it could not be read, lines counts its physical lines.
func LedgerSchema() *arrow.Schema {
	return schema(required("session_key", bigint), required("scan_id", bigint), nullable("fault", varchar),
		required("lines", bigint))
}

// LineSchema has a row for each readable line of those ledgers. repeat_no is 0
// for the first readable line of the file with this seq, then 1, 2, …. phase is
// NULL when the line names none; extra is a JSON object of the other fields, or
// NULL.
func LineSchema() *arrow.Schema {
	return schema(required("session_key", bigint), required("scan_id", bigint), required("line", bigint),
		required("byte_offset", bigint), required("seq", bigint), required("repeat_no", bigint),
		required("ts", timestamp), required("type", varchar), required("subject", varchar),
		required("detail", varchar), required("rationale", varchar), nullable("phase", tinyint),
		nullable("extra", varchar))
}

// SQLSchema has a row for each approved SQL that changed and exists in some
// form: either sql, with line ends LF and trimmed, or the fault.
func SQLSchema() *arrow.Schema {
	return schema(required("session_key", bigint), required("scan_id", bigint), nullable("fault", varchar),
		nullable("sql", varchar))
}

// FaultSchema has a row for each line that broke a rule and each file that could
// not be used (line NULL). session_key is NULL for the registry. degrades says
// that nobody can know what the line was: the session is degraded, or the
// registry may not be written.
func FaultSchema() *arrow.Schema {
	return schema(nullable("session_key", bigint), required("file", varchar), required("scan_id", bigint),
		nullable("line", bigint), nullable("byte_offset", bigint), required("reason", varchar),
		nullable("excerpt", varchar), required("degrades", arrow.FixedWidthTypes.Boolean))
}

// MemorySchema has a row for each readable line of the registry.
func MemorySchema() *arrow.Schema {
	return schema(required("line", bigint), required("byte_offset", bigint), required("id", varchar),
		nullable("ts", timestamp), required("session_id", varchar), nullable("decision_seq", bigint),
		required("type", varchar), required("subject", varchar), required("detail", varchar),
		required("rationale", varchar), required("question_context", varchar),
		required("tables", arrow.ListOf(varchar)), required("concepts", arrow.ListOf(varchar)),
		nullable("extra", varchar))
}

var (
	bigint    = arrow.PrimitiveTypes.Int64
	tinyint   = arrow.PrimitiveTypes.Int8
	varchar   = arrow.BinaryTypes.String
	timestamp = &arrow.TimestampType{Unit: arrow.Microsecond}
)

func schema(fields ...arrow.Field) *arrow.Schema { return arrow.NewSchema(fields, nil) }

func required(name string, t arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: t} }

func nullable(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}
