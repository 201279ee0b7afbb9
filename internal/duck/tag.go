//go:build !duckdb_arrow

package duck

// A build without the Arrow interface of the driver cannot move a row. The
// name of the missing identifier is the message that the compiler prints.
var _ = build_thtbatch_with_go_build_tags_duckdb_arrow_as_the_Makefile_does
