package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/fault"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"7": 7 * time.Second, " 7 ": 7 * time.Second, "0": 0, "-7": 0, "": 0, "soon": 0, "1.5": 0, "99999999999999999999": 0,
		"Tue, 01 Dec 2026 10:01:00 GMT": time.Minute, "Tue, 01 Dec 2026 09:00:00 GMT": 0,
		"Tuesday, 01-Dec-26 10:01:00 GMT": time.Minute, "Tue Dec  1 10:01:00 2026": time.Minute,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	// The clock of the server counts, not ours.
	late := http.Header{"Retry-After": {"Tue, 01 Dec 2026 10:01:00 GMT"}, "Date": {"Tue, 01 Dec 2026 10:00:30 GMT"}}
	if got := retryAfter(late, now.Add(time.Hour)); got != 30*time.Second {
		t.Error(got)
	}
}

// The length that is reckoned is never below the one that is sent.
func TestEncodedLen(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		text := make([]byte, random.IntN(50))
		for i := range text {
			text[i] = byte(random.IntN(256))
			if random.IntN(2) == 0 {
				text[i] = "ab\"\\<>&\n\u2028\u2029\ufffdà"[random.IntN(19)]
			}
		}
		var out bytes.Buffer
		writer := json.NewEncoder(&out)
		writer.SetEscapeHTML(false)
		if err := writer.Encode(string(text)); err != nil {
			t.Fatal(err)
		}
		if got := encodedLen(string(text)); got < out.Len() {
			t.Fatalf("%q: %d, but %d are sent", text, got, out.Len())
		}
	}
}

// A proxy is a way out of the network too, and reads what is not encrypted.
func TestProxiesNeedLeave(t *testing.T) {
	for _, c := range []struct {
		url, key string
		remote   bool
		want     bool
	}{
		{"http://host.example", "", false, false}, {"https://host.example", "k", false, false},
		{"http://host.example", "", true, true}, {"https://host.example", "k", true, true}, {"http://localhost", "k", true, false},
	} {
		base, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		transport := newClient(Options{Key: c.key, AllowRemote: c.remote}, base).Transport.(*http.Transport)
		if got := transport.Proxy != nil; got != c.want {
			t.Errorf("%+v: a proxy is asked for: %t", c, got)
		}
	}
}

// A name was looked at before it was looked up: what counts is where it leads.
func TestForbiddenAddresses(t *testing.T) {
	const remote, plain = "embedder_remote", "embedder_plain_key"
	for text, want := range map[string][3]string{ // neither; allowed; allowed, with a key in the open
		"127.0.0.1": {}, "127.9.9.9": {}, "::1": {}, "::ffff:127.0.0.1": {},
		"10.1.2.3": {2: plain}, "172.16.0.1": {2: plain}, "192.168.1.1": {2: plain}, "fd00::1": {2: plain},
		"::ffff:10.1.2.3": {2: plain}, "169.254.1.1": {2: plain}, "fe80::1%eth0": {2: plain},
		"8.8.8.8": {remote, "", plain}, "172.32.0.1": {remote, "", plain}, "100.64.0.1": {remote, "", plain}, "0.0.0.0": {remote, "", plain},
		"2606:4700::1111": {remote, "", plain}, "::ffff:8.8.8.8": {remote, "", plain}, "64:ff9b::a00:1": {remote, "", plain}, "::": {remote, "", plain},
	} {
		ip := netip.MustParseAddr(text)
		got := [3]string{forbidden(ip, false, false), forbidden(ip, true, false), forbidden(ip, true, true)}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	// And it is asked, before anything is sent.
	base, err := url.Parse("http://localhost:1")
	if err != nil {
		t.Fatal(err)
	}
	transport := newClient(Options{Key: "k"}, base).Transport.(*http.Transport)
	_, err = transport.DialContext(t.Context(), "tcp", "10.1.2.3:1")
	var f *fault.Error
	if !errors.As(err, &f) || f.ID != plain {
		t.Error(err)
	}
}
