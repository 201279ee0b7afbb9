package qdranttest

import (
	"math"
	"sync"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// SetStrict sets the limits of a collection that is there; its rates begin anew.
func (s *Server) SetStrict(collection string, limits *qdrant.StrictModeConfig) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.collections[collection]; c != nil {
		c.limit(limits)
	}
}

func (c *collection) limit(limits *qdrant.StrictModeConfig) {
	c.strict = limits
	c.reads, c.writes = &bucket{}, &bucket{}
}

// strictly is the strict mode of a collection where it is on, or nothing.
func (c *collection) strictly() *qdrant.StrictModeConfig {
	if c.strict.GetEnabled() {
		return c.strict
	}
	return &qdrant.StrictModeConfig{}
}

func limited(what string) error {
	return status.Errorf(codes.InvalidArgument, "Bad request: strict mode: %s", what)
}

// allowsRead checks a request against the limits of strict mode, and its rate.
func (c *collection) allowsRead(now time.Time, limit uint64, f *qdrant.Filter, exact bool) error {
	s := c.strictly()
	if s.MaxQueryLimit != nil && limit > uint64(*s.MaxQueryLimit) {
		return limited("max_query_limit")
	}
	if err := c.allowsFilter(f, s.UnindexedFilteringRetrieve); err != nil {
		return err
	}
	if exact && s.SearchAllowExact != nil && !*s.SearchAllowExact {
		return limited("search_allow_exact")
	}
	return c.reads.take(now, s.ReadRateLimit, 1+len(conditions(f)))
}

// allowsWrite checks a change of n points. Those that an upsert or new vectors
// carry are limited, others are not.
func (c *collection) allowsWrite(now time.Time, n int, carried bool, f *qdrant.Filter) error {
	s := c.strictly()
	if carried && s.UpsertMaxBatchsize != nil && uint64(n) > *s.UpsertMaxBatchsize {
		return limited("upsert_max_batchsize")
	}
	if err := c.allowsFilter(f, s.UnindexedFilteringUpdate); err != nil {
		return err
	}
	return c.writes.take(now, s.WriteRateLimit, max(1, n))
}

func (c *collection) allowsFilter(f *qdrant.Filter, unindexed *bool) error {
	s := c.strictly()
	all := conditions(f)
	if s.FilterMaxConditions != nil && uint64(len(all)) > *s.FilterMaxConditions {
		return limited("filter_max_conditions")
	}
	for _, condition := range all {
		if s.ConditionMaxSize != nil && uint64(size(condition)) > *s.ConditionMaxSize {
			return limited("condition_max_size")
		}
		if key := condition.GetField().GetKey(); key != "" && unindexed != nil && !*unindexed && c.schema[key] == nil {
			return limited("index required but not found")
		}
	}
	return nil
}

// conditions are those of a filter and of the filters in it.
func conditions(f *qdrant.Filter) (out []*qdrant.Condition) {
	for _, list := range [][]*qdrant.Condition{f.GetMust(), f.GetShould(), f.GetMustNot(), f.GetMinShould().GetConditions()} {
		for _, c := range list {
			switch o := c.GetConditionOneOf().(type) {
			case *qdrant.Condition_Filter:
				out = append(out, conditions(o.Filter)...)
			case *qdrant.Condition_Nested:
				out = append(out, conditions(o.Nested.GetFilter())...)
			default:
				out = append(out, c)
			}
		}
	}
	return out
}

func size(c *qdrant.Condition) int {
	m := c.GetField().GetMatch()
	return max(len(m.GetKeywords().GetStrings()), len(m.GetExceptKeywords().GetStrings()),
		len(m.GetIntegers().GetIntegers()), len(m.GetExceptIntegers().GetIntegers()), len(c.GetHasId().GetHasId()))
}

// overRate is a call beyond a rate.
type overRate struct{ seconds int } // until it may come again; 0: never

func (o *overRate) Error() string { return "Rate limiting exceeded" }

// bucket holds what a rate still has to give. It begins full.
type bucket struct {
	mu     sync.Mutex
	tokens float64
	last   time.Time
}

// take takes what a call costs of a rate per minute; nil: there is no rate.
func (b *bucket) take(now time.Time, perMinute *uint32, cost int) error {
	if perMinute == nil {
		return nil
	}
	capacity, wanted := float64(*perMinute), float64(cost)
	if wanted > capacity {
		return &overRate{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	perSecond := capacity / 60
	if b.last.IsZero() {
		b.tokens = capacity
	} else {
		b.tokens = min(capacity, b.tokens+perSecond*now.Sub(b.last).Seconds())
	}
	b.last = now
	if b.tokens < wanted {
		return &overRate{seconds: max(1, int(math.Ceil((wanted-b.tokens)/perSecond)))}
	}
	b.tokens -= wanted
	return nil
}
