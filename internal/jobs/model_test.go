package jobs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/embed/lexical"
	"github.com/thtbatch/thtbatch/internal/fault"
)

// modelServer is a server that speaks Ollama's /api/embed. Its vectors are those of
// the built-in embedder, so that what is alike is near.
type modelServer struct {
	*httptest.Server
	mu       sync.Mutex
	embedder embed.Embedder
	down     bool // answer that it is overloaded
	other    bool // be another model behind the same name
	requests [][]string
}

func newModel(t *testing.T) *modelServer {
	t.Helper()
	embedder, err := lexical.New(dimensions)
	if err != nil {
		t.Fatal(err)
	}
	m := &modelServer{embedder: embedder}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Input []string `json:"input"`
	}
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || r.URL.Path != "/api/embed" {
		http.Error(w, `{"error":"bad request"}`, http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		http.Error(w, `{"error":"server busy, please try again"}`, http.StatusServiceUnavailable)
		return
	}
	m.requests = append(m.requests, ask.Input)
	vectors, err := m.embedder.Embed(r.Context(), embed.Document, ask.Input)
	if err != nil && embed.Refused(err) == nil {
		http.Error(w, `{"error":"embed"}`, http.StatusInternalServerError)
		return
	}
	for i := range vectors {
		if vectors[i] == nil {
			vectors[i] = make([]float32, dimensions)
		}
		if m.other {
			slices.Reverse(vectors[i])
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"model": "m", "embeddings": vectors})
}

// set changes how the server behaves, and forgets what it was asked.
func (m *modelServer) set(down, other bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down, m.other, m.requests = down, other, nil
}

// asked is how many texts came in how many requests since the last set.
func (m *modelServer) asked() (requests, texts int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.requests {
		texts += len(r)
	}
	return len(m.requests), texts
}

// withModel is a clean desk whose vectors come from a server.
func withModel(t *testing.T, sessions int) (*desk, *modelServer) {
	t.Helper()
	d, m := cleanDesk(t, sessions), newModel(t)
	d.settings.Embed.Provider, d.settings.Embed.URL, d.settings.Embed.Model = "ollama", m.URL, "m"
	return d, m
}

const fixedTexts = 3

func wantID(t *testing.T, err error, id string) {
	t.Helper()
	var classified *fault.Error
	if !errors.As(err, &classified) || classified.ID != id {
		t.Fatalf("%v, want %s", err, id)
	}
}

func TestUnchangedNightAsksForTheFixedTextsAlone(t *testing.T) {
	t.Parallel()
	d, m := withModel(t, 20)
	first := d.run(t, fault.Done, "backfill").summary
	if _, texts := m.asked(); texts != first.Embedded+fixedTexts || first.Inserted != 40 {
		t.Fatalf("%d texts for %d vectors, %d records", texts, first.Embedded, first.Inserted)
	}
	m.set(false, false)
	again := d.run(t, fault.Done, "backfill").summary
	if requests, texts := m.asked(); requests != 1 || texts != fixedTexts || again.Embedded != 0 || !again.NothingNew() {
		t.Errorf("%d requests, %d texts, %d embedded, nothing new: %v", requests, texts, again.Embedded, again.NothingNew())
	}
	m.set(false, false)
	if d.run(t, fault.Done, "backfill", "--dry-run"); len(m.requests) != 0 {
		t.Errorf("a dry run asked %d times", len(m.requests))
	}
}

func TestModelThatChangedBehindItsName(t *testing.T) {
	t.Parallel()
	d, m := withModel(t, 10)
	d.run(t, fault.Done, "backfill")
	points := d.index(t)
	d.registry(t, concept("mem-0001", "another subject"), concept("mem-0099", "a new one"))
	d.age(t)
	m.set(false, true)
	out := d.run(t, fault.Guard, "backfill")
	wantID(t, out.err, "model_changed")
	samePoints(t, "index", d.index(t), points)
	if _, texts := m.asked(); texts != fixedTexts {
		t.Errorf("%d texts were sent", texts)
	}
	wantID(t, d.run(t, fault.Guard, "doctor").err, "doctor_bad")

	// Another word makes all vectors anew; the former ones are of another space.
	d.settings.Embed.Revision = "2"
	s := d.run(t, fault.Done, "backfill").summary
	if s.actions()["reembed"] != 11 || s.actions()["insert"] != 1 || s.Embedded != 12 {
		t.Errorf("actions %v, %d embedded", s.actions(), s.Embedded)
	}
	// Or a person takes the model as it is now.
	m.set(false, false)
	wantID(t, d.run(t, fault.Guard, "backfill").err, "model_changed")
	d.run(t, fault.Done, "backfill", "--accept-model")
	d.run(t, fault.Done, "backfill")
}

func TestEmbedderThatIsDown(t *testing.T) {
	t.Parallel()
	d, m := withModel(t, 10)
	d.run(t, fault.Done, "backfill")
	lines := []string{concept("mem-0099", "a subject nobody knew")}
	for i := range 10 {
		lines = append(lines, concept(fmt.Sprintf("mem-%04d", i+1), fmt.Sprintf("concept number %d", i)))
	}
	d.registry(t, lines...)
	d.session(t, "s-003", sessionText{ledger: ledger("table_promoted|fact_visits", "sql_approved|phase:7"), sql: "select 3"})
	d.age(t)
	m.set(true, false)
	out := d.run(t, fault.Partial, "backfill")
	wantID(t, out.err, "embedder_waits")
	s := out.summary
	if s.Failed != 1 || s.Embedded != 0 || s.Inserted != 0 || s.Repayloaded != 1 || s.Published.Dir == "" {
		t.Errorf("failed %d, embedded %d, inserted %d, repayloaded %d, published %+v", s.Failed, s.Embedded, s.Inserted, s.Repayloaded, s.Published)
	}
	if refused := read(t, d.state("runs.jsonl")); refused == "" {
		t.Error("no run is recorded")
	}
	m.set(false, false)
	if ids := d.search(t, "search", "--top", "1", "concept number 4"); !slices.Equal(ids, []string{"mem-0005"}) {
		t.Errorf("what was indexed before is not found: %v", ids)
	}
	if s := d.run(t, fault.Done, "backfill").summary; s.Inserted != 1 || s.Embedded != 1 {
		t.Errorf("the next run inserted %d and embedded %d", s.Inserted, s.Embedded)
	}
	// Where nothing is to be embedded a night is as good as any, and says what it
	// could not see.
	m.set(true, false)
	s = d.run(t, fault.Done, "backfill").summary
	if len(s.Warnings) != 1 || s.Warnings[0].ID != "model_unchecked" {
		t.Errorf("warnings %+v", s.Warnings)
	}
	wantID(t, d.carryOut(t.Context(), "search", "concept").err, "embedder_unreachable")
}

func TestLostIndexIsBuiltFromTheCache(t *testing.T) {
	t.Parallel()
	d, m := withModel(t, 15)
	first := d.run(t, fault.Done, "backfill").summary
	points := d.index(t)
	remove(t, d.state("index"))
	m.set(false, false)
	again := d.run(t, fault.Done, "backfill").summary
	if _, texts := m.asked(); texts != fixedTexts || again.Embedded != 0 || again.CacheHits != first.Embedded || again.Inserted != 30 {
		t.Errorf("%d texts, %d embedded, %d from the cache, %d inserted", texts, again.Embedded, again.CacheHits, again.Inserted)
	}
	samePoints(t, "index", d.index(t), points)
}

// A file of canaries that cannot be read is said, and what the model gives now
// is kept: nobody knows better.
func TestDamagedCanaries(t *testing.T) {
	t.Parallel()
	d, m := withModel(t, 3)
	d.run(t, fault.Done, "backfill")
	write(t, d.state("canaries.jsonl"), "{\"embed_space\": 7}\n")
	m.set(false, true)
	d.run(t, fault.Done, "backfill")
	m.set(false, false)
	wantID(t, d.run(t, fault.Guard, "backfill").err, "model_changed")
}

func TestEmbedderNeedsItsSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*desk)
		code   fault.Code
		id     string
	}{
		"no dimensions": {func(d *desk) { d.settings.Embed.Dimensions = 0 }, fault.Usage, "embedder_setting_missing"},
		"no model":      {func(d *desk) { d.settings.Embed.Model = "" }, fault.Usage, "embedder_setting_missing"},
		"no url": {func(d *desk) { d.settings.Embed.Provider, d.settings.Embed.URL = "openai", "" },
			fault.Usage, "embedder_setting_missing"},
	} {
		d, _ := withModel(t, 1)
		c.change(d)
		out := d.carryOut(t.Context(), "backfill")
		if out.code != c.code {
			t.Errorf("%s: exit %d: %v", name, out.code, out.err)
		}
		wantID(t, out.err, c.id)
	}
}
