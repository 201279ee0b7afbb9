package jobs

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
	IndexStore        string
	IndexLayout       string // flat or nested
	IndexAdoptAs      string
	IndexBatch        int // records, 1..1000
	IndexBatchBytes   int
	EmbedProvider     string
	EmbedDimensions   int
	EmbedCache        string // auto, on or off
	EmbedAllowRemote  bool
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

// ServeEntry is one line of the schedule: an argument vector, without the
// program's name, that is run whenever the cron expression comes due.
type ServeEntry struct {
	Name string   `yaml:"name"`
	Cron string   `yaml:"cron"`
	Args []string `yaml:"args"`
}
