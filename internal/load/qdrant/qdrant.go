// Package qdrant is the vector store on a Qdrant server, over gRPC.
//
// The collection may have other writers, who know nothing of this program: an
// update never replaces a point. Its vector is updated, then the fields of its
// payload are set, those at the top level last: they have the hashes, so that an
// update that was cut short looks like one that was not begun. Qdrant applies
// the operations of a batch one after the other and undoes none.
//
// A vector is brought to unit length here, in float64: the server leaves those
// that are very short as they are. A null is not kept: the server takes one in a
// payload that is set for the removal of the field.
package qdrant

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
)

// Options of a store.
type Options struct {
	URL        string // http://host:6334 or https://…, the gRPC port
	Key        string // empty: none. Over http it goes to this machine alone
	Collection string
	Vector     string // name of the vector of a point; empty: the one without a name

	BatchPoints int           // of one message; 0: 256
	BatchBytes  int           // of one message; 0: 3,000,000
	Streams     int           // messages of one Write that are under way at once; 0: one
	Timeout     time.Duration // of one call; 0: 30 s
	Tries       int           // of one call; 0: 6
	Pause       time.Duration // before the second try, longer before each further one; 0: half a second

	Log *slog.Logger // nil: nothing is logged
}

// Store is a collection on a server. It implements load.Store.
type Store struct {
	options Options
	place   string
	client  *qdrant.Client

	mu   sync.Mutex
	last *described // nil: not asked yet
}

var _ load.Store = (*Store)(nil)

// described is what the server says of the collection.
type described struct {
	exists     bool
	dimensions int
	indexed    []string
	strict     *qdrant.StrictModeConfig // never nil; empty where it is off
}

// Open makes a store. Nothing is asked of the server yet. Faults, all of the
// configuration: store_url, store_plain_key.
func Open(_ context.Context, o Options) (*Store, error) {
	o.BatchPoints, o.BatchBytes, o.Streams = cmp.Or(o.BatchPoints, 256), cmp.Or(o.BatchBytes, 3_000_000), cmp.Or(o.Streams, 1)
	o.Timeout, o.Tries, o.Pause = cmp.Or(o.Timeout, 30*time.Second), cmp.Or(o.Tries, 6), cmp.Or(o.Pause, 500*time.Millisecond)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	client, err := connect(o)
	if err != nil {
		return nil, err
	}
	return &Store{options: o, place: placeOf(o), client: client}, nil
}

func placeOf(o Options) string { return strings.TrimSuffix(o.URL, "/") + "/" + o.Collection }

// Close implements load.Store.
func (s *Store) Close() error { return s.client.Close() }

// most that a reply may have: a page is asked for that stays far below it, but one
// point may be large.
const mostReply = 64 << 20

func connect(o Options) (*qdrant.Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil || o.Collection == "" {
		return nil, fault.New(fault.Usage, "store_url")
	}
	// What else stands there is of no use to gRPC, and would be told as the place.
	if strings.TrimSuffix(u.Path, "/") != "" || strings.ContainsAny(o.URL, "?#") {
		return nil, fault.New(fault.Usage, "store_url")
	}
	port := 6334
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil || port < 1 || port > 65535 {
			return nil, fault.New(fault.Usage, "store_url")
		}
	}
	options := []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(mostReply))}
	plain := u.Scheme == "http"
	if o.Key != "" {
		if ip, err := netip.ParseAddr(u.Hostname()); plain && u.Hostname() != "localhost" && (err != nil || !ip.Unmap().IsLoopback()) {
			return nil, fault.New(fault.Usage, "store_plain_key", "path", u.Scheme+"://"+u.Host)
		}
		options = append(options, grpc.WithChainUnaryInterceptor(withKey(o.Key)))
		if plain {
			options = append(options, grpc.WithContextDialer(dialLoopback))
		}
	}
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]" // the client puts the port behind it as it is
	}
	client, err := qdrant.NewClient(&qdrant.Config{
		Host: host, Port: port, UseTLS: !plain, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		GrpcOptions: options, SkipCompatibilityCheck: true, PoolSize: 1, KeepAliveTime: 60, KeepAliveTimeout: 20,
	})
	if err != nil {
		return nil, fault.New(fault.Usage, "store_url").Because(err)
	}
	return client, nil
}

// withKey sends the key with every call.
func withKey(key string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return invoke(metadata.AppendToOutgoingContext(ctx, "api-key", key), method, req, reply, cc, opts...)
	}
}

// dialLoopback connects to this machine alone, whatever a name resolves to.
func dialLoopback(ctx context.Context, address string) (net.Conn, error) {
	d := net.Dialer{ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err == nil && !at.Addr().Unmap().IsLoopback() {
			err = errors.New("not an address of this machine")
		}
		return err
	}}
	return d.DialContext(ctx, "tcp", address)
}

// Info implements load.Store. Faults: store_old for a server before 1.12,
// collection_differs, and those of every call (see once).
func (s *Store) Info(ctx context.Context) (load.Info, error) {
	info := load.Info{Place: s.place}
	health, err := again(ctx, s, "HealthCheck", func(ctx context.Context) (*qdrant.HealthCheckReply, error) {
		return s.client.GetQdrantClient().HealthCheck(ctx, &qdrant.HealthCheckRequest{})
	})
	if err != nil {
		return info, err
	}
	info.Version = health.GetVersion()
	if old(info.Version) {
		return info, fault.New(fault.Usage, "store_old", "path", s.place, "version", info.Version)
	}
	held, err := s.describe(ctx)
	if err != nil || !held.exists {
		return info, err
	}
	exact := held.strict.SearchAllowExact == nil || *held.strict.SearchAllowExact // it holds for counting too
	count, err := again(ctx, s, "Count", func(ctx context.Context) (*qdrant.CountResponse, error) {
		return s.client.GetPointsClient().Count(ctx, &qdrant.CountPoints{CollectionName: s.options.Collection, Exact: &exact})
	})
	if err != nil {
		return info, err
	}
	info.Exists, info.Dimensions, info.Points = true, held.dimensions, int64(count.GetResult().GetCount())
	return info, nil
}

// old tells a version before 1.12. What is no version is taken for a newer one.
func old(version string) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return err1 == nil && err2 == nil && (major < 1 || major == 1 && minor < 12)
}

// describe asks what the collection is, and checks that it is one for us.
func (s *Store) describe(ctx context.Context) (*described, error) {
	exists, err := again(ctx, s, "CollectionExists", func(ctx context.Context) (*qdrant.CollectionExistsResponse, error) {
		return s.client.GetCollectionsClient().CollectionExists(ctx, &qdrant.CollectionExistsRequest{CollectionName: s.options.Collection})
	})
	if err != nil {
		return nil, err
	}
	held := &described{strict: &qdrant.StrictModeConfig{}}
	if exists.GetResult().GetExists() {
		reply, err := again(ctx, s, "GetCollectionInfo", func(ctx context.Context) (*qdrant.GetCollectionInfoResponse, error) {
			return s.client.GetCollectionsClient().Get(ctx, &qdrant.GetCollectionInfoRequest{CollectionName: s.options.Collection})
		})
		if err != nil {
			return nil, err
		}
		if held, err = s.read(reply.GetResult()); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = held
	return held, nil
}

// known is what describe said last; it asks when it never did, or when there was
// no collection.
func (s *Store) known(ctx context.Context) (*described, error) {
	s.mu.Lock()
	held := s.last
	s.mu.Unlock()
	if held != nil && held.exists {
		return held, nil
	}
	return s.describe(ctx)
}

func (s *Store) read(info *qdrant.CollectionInfo) (*described, error) {
	vectors := info.GetConfig().GetParams().GetVectorsConfig()
	params := vectors.GetParams()
	named := vectors.GetParamsMap().GetMap()
	if s.options.Vector != "" {
		params = named[s.options.Vector]
	}
	if params == nil {
		names := []string{}
		for name := range named {
			names = append(names, strconv.Quote(name))
		}
		if vectors.GetParams() != nil {
			names = append(names, `""`)
		}
		slices.Sort(names)
		return nil, s.differs("vector "+strings.Join(names, ", "), "vector "+strconv.Quote(s.options.Vector))
	}
	if params.GetDistance() != qdrant.Distance_Cosine {
		return nil, s.differs("distance "+params.GetDistance().String(), "distance "+qdrant.Distance_Cosine.String())
	}
	if params.GetMultivectorConfig() != nil {
		return nil, s.differs("many vectors a point", "one vector a point")
	}
	held := &described{exists: true, dimensions: int(params.GetSize()), strict: &qdrant.StrictModeConfig{}}
	if strict := info.GetConfig().GetStrictModeConfig(); strict.GetEnabled() {
		held.strict = strict
	}
	for name := range info.GetPayloadSchema() {
		held.indexed = append(held.indexed, name)
	}
	return held, nil
}

func (s *Store) differs(held, asked string) error {
	return fault.New(fault.Usage, "collection_differs", "path", s.place, "held", held, "asked", asked)
}

// payloadIndexes are the fields that filters of this program and of its readers
// ask for. Type and session stand in either layout.
func payloadIndexes() []string {
	return []string{"kind", "record_key", "type", "session_id", "metadata.type", "metadata.session_id"}
}

// Prepare implements load.Store.
func (s *Store) Prepare(ctx context.Context, dimensions int) error {
	if dimensions < 1 {
		return fmt.Errorf("prepare %s: %d dimensions", s.place, dimensions)
	}
	held, err := s.describe(ctx)
	if err != nil {
		return err
	}
	if !held.exists {
		if err := s.create(ctx, dimensions); err != nil {
			return err
		}
		if held, err = s.describe(ctx); err != nil {
			return err
		}
	}
	if held.dimensions != dimensions {
		return load.OtherDimension(s.place, held.dimensions, dimensions)
	}
	return s.index(ctx, held)
}

// create makes the collection, unless somebody was faster.
func (s *Store) create(ctx context.Context, dimensions int) error {
	params := &qdrant.VectorParams{Size: uint64(dimensions), Distance: qdrant.Distance_Cosine}
	config := qdrant.NewVectorsConfig(params)
	if s.options.Vector != "" {
		config = qdrant.NewVectorsConfigMap(map[string]*qdrant.VectorParams{s.options.Vector: params})
	}
	_, err := again(ctx, s, "CreateCollection", func(ctx context.Context) (*qdrant.CollectionOperationResponse, error) {
		return s.client.GetCollectionsClient().Create(ctx, &qdrant.CreateCollection{CollectionName: s.options.Collection, VectorsConfig: config})
	})
	var refused *callError
	if errors.As(err, &refused) && (refused.code == codes.AlreadyExists || refused.code == codes.InvalidArgument) {
		if held, described := s.describe(ctx); described == nil && held.exists {
			return nil
		}
	}
	return err
}

func (s *Store) index(ctx context.Context, held *described) error {
	wait, keyword := true, qdrant.FieldType_FieldTypeKeyword
	for _, field := range payloadIndexes() {
		if slices.Contains(held.indexed, field) {
			continue
		}
		_, err := again(ctx, s, "CreateFieldIndex", func(ctx context.Context) (*qdrant.PointsOperationResponse, error) {
			return s.client.GetPointsClient().CreateFieldIndex(ctx, &qdrant.CreateFieldIndexCollection{
				CollectionName: s.options.Collection, Wait: &wait, FieldName: field, FieldType: &keyword,
			})
		})
		if err != nil {
			return err
		}
		held.indexed = append(held.indexed, field)
	}
	return nil
}
