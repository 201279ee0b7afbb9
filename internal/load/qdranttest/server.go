// Package qdranttest is an in-process Qdrant over gRPC, for tests and
// benchmarks: the calls that the store makes, exact search, and trouble on demand.
//
// Checked against the engine itself (the package qdrant-edge-py 0.7, in process):
// a null in set_payload removes its field, an upsert keeps it; set_payload below
// a key makes the object that is missing and replaces what is none; of an object
// that is emptied by delete_payload {} stays; updates of an unknown point are
// refused; points are in the order of numbers, then of UUIDs; a vector whose
// squared length is below the epsilon of float32 is not brought to unit length;
// a value matches a list that has it, and not one in a list in a list; is_empty is
// true of null, [] and nothing, not of {}.
//
// Assumed, from the server's published sources: the codes of its refusals.
package qdranttest

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Options of a server.
type Options struct {
	Version     string      // "1.17.0" when empty
	APIKey      string      // asked for when set
	ReadOnlyKey string      // may read alone
	TLS         *tls.Config // nil: a plain connection
	MaxMessage  int         // bytes of a request; 0: what gRPC takes by default, 4 MiB
}

// Server is one that listens on loopback. Its methods may be called at any time
// until Close.
type Server struct {
	options  Options
	listener net.Listener
	grpc     *grpc.Server

	mu          sync.RWMutex
	collections map[string]*collection

	seen   sync.Mutex
	counts Counts
	faults func(Call) Fault
}

// Call is one that is about to be carried out.
type Call struct {
	Method string // for example Points/Upsert
	N      int    // calls of this method before it
	Total  int    // calls before it
	Data   proto.Message
}

// Fault is what happens to a call. The zero Fault is none.
type Fault struct {
	Code       codes.Code
	After      bool   // the call is carried out, and its reply is lost
	RetryAfter int    // seconds, told beside the code; negative: now
	Hang       bool   // nothing happens until the client gives up
	Before     func() // runs first
}

// Counts are the calls since the start or the last Reset.
type Counts struct {
	Methods           map[string]int
	Writes            int // calls that change points
	Deletes           int
	Upserted, Updated int // points written by upserts, and by other calls
	VectorsRead       int // vectors in replies
	LargestRequest    int // bytes
	LargestReply      int
}

// Start makes a server listen. The caller closes it.
func Start(o Options) (*Server, error) {
	if o.Version == "" {
		o.Version = "1.17.0"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("qdranttest: %w", err)
	}
	s := &Server{options: o, listener: listener, collections: map[string]*collection{}, counts: Counts{Methods: map[string]int{}}}
	options := []grpc.ServerOption{grpc.UnaryInterceptor(s.intercept)}
	if o.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(o.TLS)))
	}
	if o.MaxMessage > 0 {
		options = append(options, grpc.MaxRecvMsgSize(o.MaxMessage))
	}
	s.grpc = grpc.NewServer(options...)
	qdrant.RegisterQdrantServer(s.grpc, health{s: s})
	qdrant.RegisterCollectionsServer(s.grpc, collections{s: s})
	qdrant.RegisterPointsServer(s.grpc, points{s: s})
	go func() { _ = s.grpc.Serve(listener) }() // ends with Close
	return s, nil
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

// SetFaults asks fn about every call from now on; nil: no faults.
func (s *Server) SetFaults(fn func(Call) Fault) {
	s.seen.Lock()
	defer s.seen.Unlock()
	s.faults = fn
}

// Counts of the calls so far.
func (s *Server) Counts() Counts {
	s.seen.Lock()
	defer s.seen.Unlock()
	c := s.counts
	c.Methods = maps.Clone(c.Methods)
	return c
}

// Reset begins to count anew.
func (s *Server) Reset() {
	s.seen.Lock()
	defer s.seen.Unlock()
	s.counts = Counts{Methods: map[string]int{}}
}

func (s *Server) count(change func(*Counts)) {
	s.seen.Lock()
	defer s.seen.Unlock()
	change(&s.counts)
}

func writes(method string) bool {
	switch method {
	case "Points/Upsert", "Points/Delete", "Points/UpdateVectors", "Points/SetPayload", "Points/OverwritePayload",
		"Points/DeletePayload", "Points/UpdateBatch":
		return true
	}
	return false
}

func changes(method string) bool {
	return writes(method) || method == "Points/CreateFieldIndex" || method == "Collections/Create" ||
		method == "Collections/Update" || method == "Collections/Delete"
}

func (s *Server) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	method := strings.TrimPrefix(info.FullMethod, "/qdrant.")
	message, _ := request.(proto.Message)
	s.seen.Lock()
	call := Call{Method: method, N: s.counts.Methods[method], Data: message}
	for _, n := range s.counts.Methods {
		call.Total += n
	}
	s.counts.Methods[method]++
	if writes(method) {
		s.counts.Writes++
	}
	if method == "Points/Delete" || method == "Collections/Delete" {
		s.counts.Deletes++
	}
	s.counts.LargestRequest = max(s.counts.LargestRequest, proto.Size(message))
	faults := s.faults
	s.seen.Unlock()
	if err := s.authorise(ctx, method); err != nil {
		return nil, err
	}
	var fault Fault
	if faults != nil {
		fault = faults(call)
	}
	if fault.Before != nil {
		fault.Before()
	}
	if fault.Hang {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if fault.Code != codes.OK && !fault.After {
		return nil, failure(ctx, fault)
	}
	reply, err := handle(ctx, request)
	if err == nil && fault.After {
		return nil, failure(ctx, fault)
	}
	if m, ok := reply.(proto.Message); ok && err == nil {
		size := proto.Size(m)
		s.count(func(c *Counts) { c.LargestReply = max(c.LargestReply, size) })
	}
	return reply, err
}

func failure(ctx context.Context, f Fault) error {
	if f.RetryAfter != 0 {
		_ = grpc.SetTrailer(ctx, metadata.Pairs("retry-after", strconv.Itoa(max(0, f.RetryAfter))))
	}
	code := f.Code
	if code == codes.OK {
		code = codes.Unavailable
	}
	return status.Error(code, "on demand")
}

func (s *Server) authorise(ctx context.Context, method string) error {
	if s.options.APIKey == "" {
		return nil
	}
	var given string
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		if keys := md.Get("api-key"); len(keys) > 0 {
			given = keys[0]
		}
	}
	switch {
	case given == s.options.APIKey:
		return nil
	case given == "" || given != s.options.ReadOnlyKey:
		return status.Error(codes.Unauthenticated, "Must provide an API key")
	case changes(method):
		return status.Error(codes.PermissionDenied, "Global manage access is required")
	}
	return nil
}

type health struct {
	qdrant.UnimplementedQdrantServer
	s *Server
}

func (h health) HealthCheck(context.Context, *qdrant.HealthCheckRequest) (*qdrant.HealthCheckReply, error) {
	return &qdrant.HealthCheckReply{Title: "qdrant - vector search engine", Version: h.s.options.Version}, nil
}
