// Package thtbatch is the root of the repository. It holds no code, only the
// tests that keep the repository in order.
//
// The nightly job reads what an analyst's assistant leaves behind, one
// directory a session, and goes one way:
//
//	session directories -> extract -> warehouse -> plan -> embed -> load -> report
//
//	cmd/thtbatch          the program: flags, configuration, signals, exit codes, cron
//	internal/jobs         what each command does, and in which order
//	internal/extract      reads the tree: tolerant, concurrent, incremental
//	internal/warehouse    the DuckDB file: tables, rules and views, as SQL
//	internal/publish      writes the views out for readers
//	internal/embed        texts into vectors; lexical is the embedder that is built in
//	internal/load         the vector store; local is the one that is built in
//	internal/report       what people and programs are shown
//	internal/state        the state directory: lock, runs, and the other small files
//	internal/words        messages to people, in Italian and English
//	internal/plan         what is to be done with each record of the index, and why
//	internal/record       the records of the index: content, hashes, payload
//	internal/duck         opens DuckDB and moves Arrow in and out of it
//	internal/fault        what went wrong, classified once
//	internal/sample       larger trees for benchmarks; model is the rules a second time
//	internal/bench        whole runs of the program, measured beside reading alone
//	sql                   the text of every statement
//	testdata              a sample of some forty sessions, and what the views show for it
//
// Which package may import which is a table in layers_test.go.
package thtbatch
