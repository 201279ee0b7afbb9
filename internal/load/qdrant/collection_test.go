package qdrant_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	client "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load/qdrant"
	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
)

func TestKeysAndAddresses(t *testing.T) {
	server := serve(t, qdranttest.Options{APIKey: "right", ReadOnlyKey: "reader"})
	for key, id := range map[string]string{"right": "", "wrong": "store_denied", "": "store_denied", "reader": "store_denied"} {
		o := options(server.URL(), "c"+key)
		o.Key = key
		err := open(t, o).Prepare(t.Context(), dims)
		if id == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		wantFault(t, err, id, fault.Credential)
	}
	for url, id := range map[string]string{
		"http://localhost:6334": "", "http://[::1]": "", "https://q.example:6334": "",
		"http://10.0.0.7:6334": "store_plain_key", "http://q.example": "store_plain_key",
		"q.example:6334": "store_url", "http://": "store_url", "grpc://x": "store_url", "http://u:p@localhost": "store_url", "http://localhost:99999": "store_url",
	} {
		_, err := qdrant.Open(t.Context(), qdrant.Options{URL: url, Key: "k-secret", Collection: "c"})
		if id == "" {
			if err != nil {
				t.Errorf("%s: %v", url, err)
			}
			continue
		}
		wantFault(t, err, id, fault.Usage)
		if strings.Contains(err.Error(), "k-secret") {
			t.Errorf("the key is told: %v", err)
		}
	}
}

func TestServersAndCollectionsThatAreNotOurs(t *testing.T) {
	for version, old := range map[string]bool{"1.11.5": true, "1.12.0": false, "0.9.1": true, "1.9.0": true, "2.0.0": false, "dev": false, "": false} {
		server := serve(t, qdranttest.Options{Version: version})
		_, err := open(t, options(server.URL(), "c")).Info(t.Context())
		if old {
			wantFault(t, err, "store_old", fault.Usage)
		} else if err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
	params := func(distance client.Distance) *client.VectorParams {
		return &client.VectorParams{Size: dims, Distance: distance}
	}
	named := func(names ...string) *client.VectorsConfig {
		m := map[string]*client.VectorParams{}
		for _, name := range names {
			m[name] = params(client.Distance_Cosine)
		}
		return client.NewVectorsConfigMap(m)
	}
	for name, c := range map[string]struct {
		config *client.VectorsConfig
		vector string
		held   string
		asked  string
	}{
		"another distance": {client.NewVectorsConfig(params(client.Distance_Dot)), "", "distance Dot", "distance Cosine"},
		"no such name":     {named("title", "body"), "dense", `vector "body", "title"`, `vector "dense"`},
		"named":            {named("body"), "", `vector "body"`, `vector ""`},
		"unnamed":          {client.NewVectorsConfig(params(client.Distance_Cosine)), "dense", `vector ""`, `vector "dense"`},
		"fine":             {named("title", "body"), "body", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, qdranttest.Options{})
			host, port, _ := qdrant.Address(t, server.URL())
			c0, err := client.NewClient(&client.Config{Host: host, Port: port, SkipCompatibilityCheck: true, PoolSize: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer c0.Close()
			if err := c0.CreateCollection(t.Context(), &client.CreateCollection{CollectionName: "c", VectorsConfig: c.config}); err != nil {
				t.Fatal(err)
			}
			server.Reset()
			o := options(server.URL(), "c")
			o.Vector = c.vector
			s := open(t, o)
			if c.held == "" {
				if err := errors.Join(s.Prepare(t.Context(), dims), s.Write(t.Context(), memories(0, 2))); err != nil {
					t.Fatal(err)
				}
				return
			}
			_, err = s.Info(t.Context())
			for _, err := range []error{err, s.Prepare(t.Context(), dims), s.Write(t.Context(), memories(0, 1))} {
				wantFault(t, err, "collection_differs", fault.Usage)
				var f *fault.Error
				errors.As(err, &f)
				if f.Args["held"] != c.held || f.Args["asked"] != c.asked {
					t.Errorf("%v", f.Args)
				}
			}
			if counts := server.Counts(); counts.Writes+counts.Methods["Points/CreateFieldIndex"] != 0 {
				t.Errorf("something was written: %v", counts.Methods)
			}
		})
	}
}

func TestPrepareMakesWhatIsMissing(t *testing.T) {
	server := serve(t, qdranttest.Options{})
	s := open(t, options(server.URL(), "c"))
	for range 2 {
		if err := s.Prepare(t.Context(), dims); err != nil {
			t.Fatal(err)
		}
	}
	if c := server.Counts(); c.Methods["Collections/Create"] != 1 || c.Methods["Points/CreateFieldIndex"] != 6 {
		t.Errorf("%v", c.Methods)
	}
	// Two processes at once: one makes it, both go on.
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := open(t, options(server.URL(), "d")).Prepare(t.Context(), dims); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// What makes the collection may be lost on the way as well: it is not made twice,
// and no index is missing.
func TestPrepareInTrouble(t *testing.T) {
	for _, method := range []string{"Collections/Create", "Points/CreateFieldIndex"} {
		for name, f := range map[string]qdranttest.Fault{
			"reply lost": {Code: codes.DeadlineExceeded, After: true}, "unavailable": {Code: codes.Unavailable},
		} {
			t.Run(method+", "+name, func(t *testing.T) {
				server := serve(t, qdranttest.Options{})
				server.SetFaults(first(method, 3, f))
				s := open(t, options(server.URL(), "c"))
				if err := errors.Join(s.Prepare(t.Context(), dims), s.Write(t.Context(), memories(0, 3))); err != nil {
					t.Fatal(err)
				}
				server.Reset()
				if err := open(t, options(server.URL(), "c")).Prepare(t.Context(), dims); err != nil {
					t.Fatal(err)
				}
				if c := server.Counts(); c.Methods["Points/CreateFieldIndex"] != 0 || len(server.Points("c")) != 3 {
					t.Errorf("%v, %d points", c.Methods, len(server.Points("c")))
				}
			})
		}
	}
}

// A page that is too much is asked for by halves, and one that is lost once more
// from where it began: no point is missing or told twice.
func TestScanInTrouble(t *testing.T) {
	for name, f := range map[string]qdranttest.Fault{
		"too much": {Code: codes.ResourceExhausted}, "too much, says the server": {Code: codes.OutOfRange},
		"reply lost": {Code: codes.Unavailable, After: true},
	} {
		t.Run(name, func(t *testing.T) {
			server, s := prepared(t, func(o *qdrant.Options) { o.BatchPoints = 500 })
			if err := s.Write(t.Context(), memories(0, 2500)); err != nil {
				t.Fatal(err)
			}
			server.SetFaults(func(c qdranttest.Call) qdranttest.Fault {
				if r, ok := c.Data.(*client.ScrollPoints); ok && (r.GetLimit() > 300 && f.Code != codes.Unavailable || c.N == 1) {
					return f
				}
				return qdranttest.Fault{}
			})
			seen := map[string]bool{}
			err := s.Scan(t.Context(), func(b arrow.RecordBatch) error {
				for i := range int(b.NumRows()) {
					id := strings.Clone(b.Column(0).(*array.String).Value(i))
					if seen[id] {
						t.Errorf("%s twice", id)
					}
					seen[id] = true
				}
				return nil
			})
			if err != nil || len(seen) != 2500 {
				t.Errorf("%d points, %v", len(seen), err)
			}
		})
	}
}
