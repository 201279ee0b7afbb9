package server

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// checkURL parses the address, and refuses a key that would travel in the open.
func checkURL(o Options) (*url.URL, error) {
	u, err := url.Parse(o.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fault.New(fault.Usage, "embedder_url")
	}
	if o.Key != "" && u.Scheme == "http" && u.Hostname() != "localhost" {
		if ip, err := netip.ParseAddr(u.Hostname()); err != nil || !ip.Unmap().IsLoopback() {
			return nil, fault.New(fault.Usage, "embedder_plain_key", "path", u.Scheme+"://"+u.Host)
		}
	}
	return u, nil
}

// newClient makes a client that connects only where it may. It is the address
// of the connection that is looked at: a name may lead anywhere.
func newClient(o Options, base *url.URL) *http.Client {
	plainKey := o.Key != "" && base.Scheme == "http"
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if id := forbidden(at.Addr(), o.AllowRemote, plainKey); id != "" {
			return fault.New(fault.Usage, id, "path", base.Scheme+"://"+base.Host)
		}
		return nil
	}
	transport := &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16,
		IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 30 * time.Second,
	}
	if o.AllowRemote && !plainKey {
		transport.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{
		Transport: transport,
		// A redirect could lead, key and all, to where no key may go.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// forbidden is the fault of connecting to an address, "" where there is none.
// What is link-local stays on the link, and counts as private.
func forbidden(ip netip.Addr, allowRemote, plainKey bool) string {
	ip = ip.Unmap()
	switch {
	case ip.IsLoopback():
		return ""
	case plainKey:
		return "embedder_plain_key"
	case allowRemote, ip.IsPrivate(), ip.IsLinkLocalUnicast():
		return ""
	}
	return "embedder_remote"
}
