package main

import (
	"slices"
	"strings"
	"time"

	"github.com/thtbatch/thtbatch/internal/jobs"
	"github.com/thtbatch/thtbatch/internal/record"
)

// setting is one row of the table that everything about the configuration is
// read from: the file, the environment, the text that init writes.
type setting struct {
	key string
	doc string
	// dir says that the value is a directory; a relative one in the file, or
	// by default, is taken from where the file is.
	dir bool
	at  func(*jobs.Settings) value
}

// variable is the setting's name in the environment.
func (s setting) variable() string {
	switch s.key {
	case "artifacts.dir":
		return "THTBATCH_ARTIFACTS"
	case "state.dir":
		return "THTBATCH_STATE"
	}
	return "THTBATCH_" + strings.ToUpper(strings.ReplaceAll(s.key, ".", "_"))
}

// defaults are the values of a run without a file, variables or flags.
func defaults() jobs.Settings {
	return jobs.Settings{
		ArtifactsDir: "artifacts", ArtifactsSessions: "sessions", ArtifactsManifest: "manifest.yaml",
		ArtifactsLedger: "review_decisions.jsonl", ArtifactsSQL: "sql_final.sql", ArtifactsRegistry: "memory/registry.jsonl",
		StateDir: "state", Workspace: "default", AcceptDegraded: []string{}, ReopenScope: "downstream",
		WithdrawalType: "decision_withdrawn", ReopeningType: "phase_reopened", Phases: defaultPhases(),
		CandidatesCap: 5, SolvedStatuses: []string{"finalized"}, ContentTemplate: record.DefaultTemplate(),
		Index: jobs.IndexSettings{
			Store: "local", Layout: string(record.Flat), BatchBytes: 3_000_000,
			URL: "http://localhost:6334", Collection: "thtbatch", Timeout: 30 * time.Second, Tries: 6, Pause: 500 * time.Millisecond, Streams: 2,
		},
		Embed: jobs.EmbedSettings{
			Provider: "lexical", Cache: "auto", Normalise: true, Truncate: "refuse",
			Batch: 32, BatchTokens: 16_000, Timeout: 2 * time.Minute, Tries: 6, Pause: 500 * time.Millisecond,
		},
		QuarantineExcerpt: "masked", PublishKeep: 3, LogLevel: "info", ServeTimezone: "Local", ServeJobs: []jobs.ServeEntry{},
	}
}

// defaultPhases are the contract's, section 1.2.
func defaultPhases() map[string]int {
	return map[string]int{
		"concept_clarified": 1, "memory_rejected": 2,
		"table_promoted": 4, "table_excluded": 4, "column_promoted": 4,
		"question_rewritten": 5, "cte_approved": 6, "sql_approved": 7,
		"datamart_requested": 8, "datamart_declined": 8, "memory_promoted": 8, "memory_promotion_declined": 8,
	}
}

// settings is the table. Its order is the order of the file that init writes.
func settings() []setting {
	return slices.Concat([]setting{
		{key: "lang", doc: "Language of what is said to people: it or en. Empty: from LC_ALL, LC_MESSAGES, LANG.",
			at: func(s *jobs.Settings) value { return word{to: &s.Lang, among: []string{"", "it", "en"}} }},

		{key: "artifacts.dir", doc: "The directory that the assistant writes and this program reads.", dir: true,
			at: func(s *jobs.Settings) value { return word{to: &s.ArtifactsDir, check: isFilled} }},
		{key: "artifacts.sessions", doc: "Below artifacts.dir: the directory with one directory a session.",
			at: func(s *jobs.Settings) value {
				return word{to: &s.ArtifactsSessions, check: isBelow, shape: "name/name"}
			}},
		{key: "artifacts.manifest", doc: "Name of the manifest in a session's directory.",
			at: func(s *jobs.Settings) value { return word{to: &s.ArtifactsManifest, check: isFileName, shape: "name"} }},
		{key: "artifacts.ledger", doc: "Name of the ledger in a session's directory.",
			at: func(s *jobs.Settings) value { return word{to: &s.ArtifactsLedger, check: isFileName, shape: "name"} }},
		{key: "artifacts.sql", doc: "Name of the approved SQL in a session's directory.",
			at: func(s *jobs.Settings) value { return word{to: &s.ArtifactsSQL, check: isFileName, shape: "name"} }},
		{key: "artifacts.registry", doc: "Below artifacts.dir: the registry of Memory.",
			at: func(s *jobs.Settings) value {
				return word{to: &s.ArtifactsRegistry, check: isBelow, shape: "name/name"}
			}},
		{key: "artifacts.follow_outside", doc: "Follow a session that is a symbolic link out of artifacts.dir.",
			at: func(s *jobs.Settings) value { return truth{&s.FollowOutside} }},

		{key: "state.dir", doc: "The directory where this program keeps the warehouse, the index and its records.", dir: true,
			at: func(s *jobs.Settings) value { return word{to: &s.StateDir, check: isFilled} }},
		{key: "workspace", doc: "The workspace that index records belong to; those of another are never written over.",
			at: func(s *jobs.Settings) value { return word{to: &s.Workspace, check: isFilled} }},

		{key: "accept_degraded", doc: "Ids of degraded sessions that a person looked at and accepted.",
			at: func(s *jobs.Settings) value { return list{to: &s.AcceptDegraded} }},
		{key: "reopen_scope", doc: "What a reopened phase makes stale: later phases (downstream) or itself too (inclusive).",
			at: func(s *jobs.Settings) value {
				return word{to: &s.ReopenScope, among: []string{"downstream", "inclusive"}}
			}},
		{key: "ledger.withdrawal_type", doc: "The decision type that withdraws another decision.",
			at: func(s *jobs.Settings) value { return word{to: &s.WithdrawalType, check: isFilled} }},
		{key: "ledger.reopening_type", doc: "The decision type that reopens a phase.",
			at: func(s *jobs.Settings) value { return word{to: &s.ReopeningType, check: isFilled} }},
		{key: "ledger.phases", doc: "Phase, 1 to 8, of a decision whose line names none. Types named here are added to these.",
			at: func(s *jobs.Settings) value { return phases{&s.Phases} }},
		{key: "candidates.cap", doc: "How many candidates of a session are proposed; the others are shown as overflow.",
			at: func(s *jobs.Settings) value { return number{&s.CandidatesCap, 1, 1000} }},
		{key: "solved.statuses", doc: "Statuses of a session whose question and SQL may become a solved pair.",
			at: func(s *jobs.Settings) value { return list{to: &s.SolvedStatuses} }},
		{key: "memory.content_template", doc: "The text that is embedded for a Memory, line by line.",
			at: func(s *jobs.Settings) value {
				return list{to: &s.ContentTemplate, check: isTemplate, shape: "[\"{type}: {subject}\", …]"}
			}},
	}, indexSettings(), embedSettings(), []setting{
		{key: "quarantine.excerpt", doc: "Of a quarantined line show digits and string values masked (masked) or as they are (full).",
			at: func(s *jobs.Settings) value {
				return word{to: &s.QuarantineExcerpt, among: []string{"masked", "full"}}
			}},
		{key: "publish.dir", doc: "Where reports are published. Empty: published in state.dir.", dir: true,
			at: func(s *jobs.Settings) value { return word{to: &s.PublishDir} }},
		{key: "publish.keep", doc: "How many publications are kept.",
			at: func(s *jobs.Settings) value { return number{&s.PublishKeep, 1, 1000} }},

		{key: "duckdb.memory_limit", doc: "Memory of DuckDB, for example 640MB or 2GiB. Empty: half of what there is, at most 640MiB.",
			at: func(s *jobs.Settings) value { return size{&s.DuckDBMemoryLimit} }},
		{key: "duckdb.threads", doc: "Threads of DuckDB. 0: one, which costs the least processor time.",
			at: func(s *jobs.Settings) value { return number{&s.DuckDBThreads, 0, 1024} }},
		{key: "duckdb.temp_directory", doc: "Where DuckDB puts what does not fit into memory. Empty: beside its file.", dir: true,
			at: func(s *jobs.Settings) value { return word{to: &s.DuckDBTempDir} }},

		{key: "log.level", doc: "The least that is logged: debug, info, warn or error.",
			at: func(s *jobs.Settings) value {
				return word{to: &s.LogLevel, among: []string{"debug", "info", "warn", "error"}}
			}},
		{key: "serve.timezone", doc: "Time zone of the cron expressions. An hour that daylight saving skips is skipped.",
			at: func(s *jobs.Settings) value {
				return word{to: &s.ServeTimezone, check: isTimezone, shape: "Local|UTC|Europe/Rome|…"}
			}},
		{key: "serve.jobs", doc: "What serve runs: a list of {name: nightly, cron: \"30 2 * * *\", args: [backfill]}.",
			at: func(s *jobs.Settings) value { return schedule{&s.ServeJobs} }},
	})
}
