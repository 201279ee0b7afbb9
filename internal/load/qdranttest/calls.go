package qdranttest

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

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
	Before     func() // runs first; may block, to delay the call
}

// Counts are the calls since the start or the last Reset. Those that were refused
// by a fault or for their key are counted, those that gRPC refused for their size
// are not.
type Counts struct {
	Methods map[string]int
	Writes  int // calls that change points
	// Deletes are calls, and operations of a batch, that delete points or
	// collections.
	Deletes           int
	Upserted, Updated int // points written by upserts, and by other calls
	VectorsRead       int // points in replies that had their vectors
	LargestRequest    int // bytes
	LargestReply      int
}

// SetFaults asks fn about every call from now on; nil: no faults. It is asked
// from several goroutines at once.
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
		"Points/DeletePayload", "Points/ClearPayload", "Points/UpdateBatch":
		return true
	}
	return false
}

func changes(method string) bool {
	return writes(method) || method == "Points/CreateFieldIndex" || method == "Collections/Create" ||
		method == "Collections/Update" || method == "Collections/Delete"
}

func (s *Server) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	message, ok := request.(proto.Message)
	if !ok {
		return nil, status.Error(codes.Internal, "no message")
	}
	size := proto.Size(message)
	call, faults := s.begin(strings.TrimPrefix(info.FullMethod, "/qdrant."), message, size)
	if size > s.options.MaxMessage {
		return nil, status.Error(s.options.Oversized, "decoded message length too large")
	}
	if err := s.authorise(ctx, call.Method); err != nil {
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
	if err != nil {
		return nil, told(ctx, err)
	}
	if fault.After {
		return nil, failure(ctx, fault)
	}
	if m, ok := reply.(proto.Message); ok {
		size := proto.Size(m)
		s.count(func(c *Counts) { c.LargestReply = max(c.LargestReply, size) })
	}
	return reply, nil
}

// begin counts a call.
func (s *Server) begin(method string, message proto.Message, size int) (Call, func(Call) Fault) {
	s.seen.Lock()
	defer s.seen.Unlock()
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
	s.counts.LargestRequest = max(s.counts.LargestRequest, size)
	return call, s.faults
}

func failure(ctx context.Context, f Fault) error {
	if f.RetryAfter != 0 {
		pause(ctx, max(0, f.RetryAfter))
	}
	code := f.Code
	if code == codes.OK {
		code = codes.Unavailable
	}
	return status.Error(code, "on demand")
}

// told is the refusal of a handler as the client gets it.
func told(ctx context.Context, err error) error {
	var over *overRate
	if !errors.As(err, &over) {
		return err
	}
	if over.seconds > 0 {
		pause(ctx, over.seconds)
	}
	return status.Error(codes.ResourceExhausted, over.Error())
}

func pause(ctx context.Context, seconds int) {
	_ = grpc.SetTrailer(ctx, metadata.Pairs("retry-after", strconv.Itoa(seconds))) // fails outside of a call alone
}

func (s *Server) authorise(ctx context.Context, method string) error {
	if s.options.APIKey == "" || method == "Qdrant/HealthCheck" {
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
