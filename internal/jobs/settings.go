package jobs

import "time"

// Settings are the values of the configuration, resolved (flag over
// environment over file over default) and checked. Directories are ready to be
// opened: relative ones were joined to what they are relative to.
type Settings struct {
	Lang string // it, en, or empty: from the locale

	ArtifactsDir      string
	ArtifactsSessions string // below ArtifactsDir
	ArtifactsManifest string // a name in a session's directory
	ArtifactsLedger   string // a name in a session's directory
	ArtifactsSQL      string // a name in a session's directory
	ArtifactsRegistry string // below ArtifactsDir
	FollowOutside     bool
	StateDir          string
	Workspace         string
	AcceptDegraded    []string // ids of sessions
	ReopenScope       string   // downstream or inclusive
	WithdrawalType    string
	ReopeningType     string
	Phases            map[string]int // phase 1..8 of a decision type
	CandidatesCap     int
	SolvedStatuses    []string
	ContentTemplate   []string // lines for record.ParseTemplate
	Index             IndexSettings
	Embed             EmbedSettings
	QuarantineExcerpt string // masked or full
	PublishDir        string
	PublishKeep       int
	DuckDBMemoryLimit int64  // bytes; 0: the default of package duck
	DuckDBThreads     int    // 0: what the scheduler may use
	DuckDBTempDir     string // empty: beside each file
	LogLevel          string // debug, info, warn or error
	ServeTimezone     string
	ServeJobs         []ServeEntry
}

// IndexSettings say where vectors are kept, and how they are written.
type IndexSettings struct {
	Store   string // local or qdrant
	Layout  string // flat or nested
	AdoptAs string // an embed_space, or empty

	Batch      int // records, 1..1000; 0: as many as suit the store
	BatchBytes int

	// Of a server.
	URL, Collection, Vector string
	KeyFile, DeleteKeyFile  string // empty: keys come from the environment, or there are none
	Timeout                 time.Duration
	Tries                   int           // of a call
	Pause                   time.Duration // before the second one
	Streams                 int           // batches under way at once, 1..8
}

// EmbedSettings say what makes vectors.
type EmbedSettings struct {
	Provider   string // lexical, ollama, openai or onnx
	Model      string
	Revision   string // told apart from the same name without it
	Dimensions int    // 0: what the provider has by itself
	Cache      string // auto, on or off

	DocumentPrefix, QueryPrefix string
	Normalise                   bool
	Truncate                    string // refuse, server or head:N
	Batch, BatchTokens          int    // of one request
	Concurrency                 int    // requests at once; 0: what suits the provider

	// Of a server.
	URL, KeyFile      string
	AllowRemote       bool
	SendDimensions    bool
	RequestsPerMinute int // 0: as fast as it goes
	Timeout           time.Duration
	Tries             int           // of a request
	Pause             time.Duration // before the second one

	// Of onnx.
	ModelDir, Library string
	Threads           int // 0: what the machine has
}

// ServeEntry is one line of the schedule: an argument vector, without the
// program's name, that is run whenever the cron expression comes due.
type ServeEntry struct {
	Name string   `yaml:"name"`
	Cron string   `yaml:"cron"`
	Args []string `yaml:"args"`
}
