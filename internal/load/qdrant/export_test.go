package qdrant

import (
	"net/url"
	"strconv"
	"testing"
)

// Address takes an address apart, for the tests' own client.
func Address(t testing.TB, address string) (host string, port int, tls bool) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if port, err = strconv.Atoi(u.Port()); err != nil {
		port = 6334
	}
	return u.Hostname(), port, u.Scheme == "https"
}
