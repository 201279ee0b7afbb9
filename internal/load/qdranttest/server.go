// Package qdranttest is an in-process Qdrant over gRPC, for tests and
// benchmarks: the calls that the store makes, exact search, the refusals of the
// real one, and trouble on demand. It has no network but loopback and no disk.
//
// Checked against the engine itself (the package qdrant-edge-py 0.9.0, which is
// the server's own segment engine, in process):
//
//   - A null in set_payload removes its field, one inside a value stays; an upsert
//     and overwrite_payload keep nulls. set_payload below a key makes the objects
//     that are missing and replaces what is none. Of an object that is emptied by
//     delete_payload {} stays.
//   - A write to several points of which one is unknown is applied to the others,
//     and then refused. An upsert with one bad vector is refused, and some of the
//     others are in: there in no order (hash maps), here those before it. Deleting
//     an unknown point is no error. Of two points with one id in an upsert the
//     later counts. An upsert without a named vector drops the one that was there.
//   - Points are in the order of numbers, then of UUIDs; offsets need not exist.
//   - Cosine: a vector whose squared length, in float32, is below the epsilon of
//     float32 or within 1e-6 of 1 is left as it is; where it overflows, zeros are
//     stored. A score must be above the threshold, not on it.
//   - A value matches a list that has it, and not a list in a list; "a.b" does not
//     look into lists. is_empty is true of nothing, null and [], not of {} and
//     [null]; is_null of null and of lists with one. Without an index "except"
//     takes any value but null, with one those of its type alone. nested looks at
//     the objects of a list, not at an object. has_id, should, min_should.
//   - Selected fields: of an object whose field is missing {} is told, of a list
//     below which a field was asked for [].
//
// Read in several revisions of the server's published sources: the codes of
// refusals; that limits of strict mode are InvalidArgument but for the rates, which
// are ResourceExhausted with the trailer retry-after, or without it where a call
// costs more than a minute has; that a search or scroll costs 1, and 1 a condition;
// that a limit of 0 is refused, and points without any vectors; that vectors are
// told in another field from 1.17 on. Old revisions told a wrong key by
// PermissionDenied, and asked for one in health checks too; here it is as in new ones.
//
// Assumed: that a message that is too large is OutOfRange with the server and
// ResourceExhausted with proxies (Options.Oversized); that making a collection that
// is there is AlreadyExists; that a write costs 1 a point; that of conditions those
// on fields alone need an index, and that the ids of has_id count for
// condition_max_size.
//
// Not there: aliases, shards, sparse and multiple vectors, datetime, geo and
// full-text conditions, keys with [] or quotes, prefetch and queries other than the
// nearest, ordering by a field. They are Unimplemented, never answered wrongly.
package qdranttest

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
)

// Options of a server.
type Options struct {
	Version     string      // "1.17.0" when empty
	APIKey      string      // asked for when set
	ReadOnlyKey string      // may read alone
	TLS         *tls.Config // nil: a plain connection
	MaxMessage  int         // bytes of a request; 0: what gRPC takes by default, 4 MiB
	// Oversized is the code of a request above MaxMessage: ResourceExhausted, as
	// from gRPC and proxies, when it is OK; OutOfRange from the real server.
	Oversized codes.Code
	Now       func() time.Time // for rates, from several goroutines at once; time.Now when nil
}

// Server is one that listens on loopback. Its methods may be called at any time
// until Close.
type Server struct {
	options  Options
	listener net.Listener
	grpc     *grpc.Server
	oldField bool // vectors are told as before 1.17

	mu          sync.RWMutex
	collections map[string]*collection

	seen   sync.Mutex
	counts Counts
	faults func(Call) Fault
}

// Start makes a server listen. The caller closes it.
func Start(o Options) (*Server, error) {
	if o.Version == "" {
		o.Version = "1.17.0"
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = 4 << 20
	}
	if o.Oversized == codes.OK {
		o.Oversized = codes.ResourceExhausted
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("qdranttest: %w", err)
	}
	s := &Server{options: o, listener: listener, oldField: before(o.Version, 1, 17),
		collections: map[string]*collection{}, counts: Counts{Methods: map[string]int{}}}
	options := []grpc.ServerOption{grpc.UnaryInterceptor(s.intercept), grpc.MaxRecvMsgSize(o.MaxMessage)}
	if o.Oversized != codes.ResourceExhausted {
		options = append(options, grpc.MaxRecvMsgSize(math.MaxInt32)) // intercept looks
	}
	if o.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(o.TLS)))
	}
	s.grpc = grpc.NewServer(options...)
	qdrant.RegisterQdrantServer(s.grpc, health{s: s})
	qdrant.RegisterCollectionsServer(s.grpc, collections{s: s})
	qdrant.RegisterPointsServer(s.grpc, points{s: s})
	go func() { _ = s.grpc.Serve(listener) }() // ends with Close
	return s, nil
}

// before is whether a version is an older one; what is no version is not.
func before(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	first, errFirst := strconv.Atoi(parts[0])
	second, errSecond := strconv.Atoi(parts[1])
	return errFirst == nil && errSecond == nil && (first < major || first == major && second < minor)
}

// Addr is host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL is the address as the store's setting has it.
func (s *Server) URL() string {
	if s.options.TLS != nil {
		return "https://" + s.Addr()
	}
	return "http://" + s.Addr()
}

// Close ends all calls.
func (s *Server) Close() { s.grpc.Stop() }

type health struct {
	qdrant.UnimplementedQdrantServer
	s *Server
}

func (h health) HealthCheck(context.Context, *qdrant.HealthCheckRequest) (*qdrant.HealthCheckReply, error) {
	return &qdrant.HealthCheckReply{Title: "qdrant - vector search engine", Version: h.s.options.Version}, nil
}
