package load

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/record"
)

// Why a write is refused. The reasons are stable words: a refusal that would be
// the same again is remembered by them.
const (
	ReasonDimension      = "vector_dimension"      // another dimension than the store holds
	ReasonNotFinite      = "vector_not_finite"     // a NaN or an infinity
	ReasonZero           = "vector_zero"           // no length in float32
	ReasonNorm           = "vector_norm"           // a length beyond float32
	ReasonNoVector       = "vector_missing"        // none given, and the point is new
	ReasonNoKey          = "key_empty"             //
	ReasonNoPointID      = "point_id_empty"        //
	ReasonPointID        = "point_id_unusable"     // the store cannot have such an id
	ReasonEncoding       = "payload_not_utf8"      // a key, field name or string is not UTF-8
	ReasonValue          = "payload_not_json"      // a value that JSON has no form for
	ReasonKeyDiffers     = "record_key_differs"    // payload and write name different records
	ReasonKind           = "kind_not_ours"         //
	ReasonType           = "type_not_reusable"     // a Memory of a type that may not be one
	ReasonRepeated       = "point_repeated"        // the batch has the point twice
	ReasonOtherRecord    = "point_other_record"    // the point holds another record
	ReasonOtherWorkspace = "point_other_workspace" // the point belongs to another workspace
	ReasonServer         = "refused_by_store"      // the server takes the others and not this one
	ReasonTooLarge       = "point_too_large"       // more than a message to the server may have
)

// Permanent says whether a refusal would be the same for the same record, however
// the index changes: one of its vector or its texts. What another writer did to
// the point, and what only a server knows the reason of, may be otherwise
// tomorrow.
func Permanent(reason string) bool {
	switch reason {
	case ReasonDimension, ReasonNotFinite, ReasonZero, ReasonNorm, ReasonEncoding, ReasonValue, ReasonTooLarge:
		return true
	}
	return false
}

// ItemError is a write that was refused. Neither field is a text of a session.
type ItemError struct{ Key, Reason string }

func (e ItemError) Error() string { return e.Key + ": " + e.Reason }

// RefusedError lists every write that is refused, each with its first reason.
type RefusedError struct {
	Items []ItemError
	// OthersWritten says that the other writes of the batch are durable. Where
	// it is not set nothing was written.
	OthersWritten bool
}

func (e *RefusedError) Error() string {
	const shown = 5
	var b strings.Builder
	fmt.Fprintf(&b, "%d refused", len(e.Items))
	for i, item := range e.Items {
		if i == shown {
			b.WriteString(", …")
			break
		}
		b.WriteString(", " + item.Error())
	}
	return b.String()
}

// DimensionError says that a store holds vectors of one dimension and was
// asked for another. It is found inside a classified error.
type DimensionError struct{ Held, Asked int }

func (e *DimensionError) Error() string {
	return fmt.Sprintf("the store holds vectors of %d dimensions, not of %d", e.Held, e.Asked)
}

// OtherDimension classifies a DimensionError: the configuration names a model
// that is not the one of this store.
func OtherDimension(store string, held, asked int) error {
	return fault.New(fault.Usage, "store_dimension", "path", store, "held", held, "asked", asked).
		Because(&DimensionError{Held: held, Asked: asked})
}

// ErrNotPrepared is returned by a Write into a store without Prepare.
var ErrNotPrepared = errors.New("the store was not prepared")

// Check is what every store asks of a batch before it looks at what it holds:
// nil, or a *RefusedError.
func Check(writes []Write, dimensions int) error {
	seen := make(map[string]bool, len(writes))
	return refuse(writes, func(w Write) string {
		switch kind, _ := w.Payload["kind"].(string); {
		case w.Key == "":
			return ReasonNoKey
		case w.PointID == "":
			return ReasonNoPointID
		case !utf8.ValidString(w.Key), !utf8.ValidString(w.PointID):
			return ReasonEncoding
		case seen[w.PointID]:
			return ReasonRepeated
		case w.Payload["record_key"] != any(w.Key):
			return ReasonKeyDiffers
		case !record.Ours(kind):
			return ReasonKind
		case kind == record.KindMemory && !reusable(w.Payload):
			return ReasonType
		}
		seen[w.PointID] = true
		if w.Vector != nil {
			if reason := CheckVector(w.Vector, dimensions); reason != "" {
				return reason
			}
		}
		return checkValue(w.Payload)
	})
}

// CheckHeld is what every store asks next. held has, by point id, the payload
// of each point of the batch that the store holds.
func CheckHeld(writes []Write, held map[string]map[string]any) error {
	return refuse(writes, func(w Write) string {
		old, exists := held[w.PointID]
		if !exists {
			if w.Vector == nil {
				return ReasonNoVector
			}
			return ""
		}
		if String(old, "record_key") != w.Key || String(old, "kind") != String(w.Payload, "kind") {
			return ReasonOtherRecord
		}
		// A point without a workspace is a writer's that knows of none: the plan
		// decides whether it is adopted.
		if owner := String(old, "workspace"); owner != "" && owner != String(w.Payload, "workspace") {
			return ReasonOtherWorkspace
		}
		return ""
	})
}

func refuse(writes []Write, reason func(Write) string) error {
	var refused RefusedError
	for _, w := range writes {
		if r := reason(w); r != "" {
			refused.Items = append(refused.Items, ItemError{Key: strings.ToValidUTF8(w.Key, "\uFFFD"), Reason: r})
		}
	}
	if refused.Items == nil {
		return nil
	}
	return &refused
}

// CheckVector returns why a vector cannot be stored or searched for, or the
// empty string. Its length must be a normal float32 when squared, since stores
// compute with float32: below that it has no direction, above it overflows.
func CheckVector(v []float32, dimensions int) string {
	if len(v) != dimensions {
		return ReasonDimension
	}
	squared := SquaredNorm(v)
	switch {
	case math.IsNaN(squared), math.IsInf(squared, 0):
		return ReasonNotFinite
	case squared < 0x1p-126:
		return ReasonZero
	case squared > math.MaxFloat32:
		return ReasonNorm
	}
	return ""
}

// SquaredNorm is the squared length of v, which in float64 neither overflows
// nor vanishes for finite values.
func SquaredNorm(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return sum
}

// Unit is v at unit length, computed in float64: at the ends of float32 a sum of
// squares would overflow or vanish. v has passed CheckVector.
func Unit(v []float32) []float32 {
	norm := math.Sqrt(SquaredNorm(v))
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / norm)
	}
	return out
}

// CheckQuery checks what Search is asked, except for the dimension of a store
// that is not prepared (0).
func CheckQuery(q Query, store string, dimensions int) error {
	if dimensions > 0 && len(q.Vector) != dimensions {
		return OtherDimension(store, dimensions, len(q.Vector))
	}
	if reason := CheckVector(q.Vector, len(q.Vector)); reason != "" {
		return &RefusedError{Items: []ItemError{{Key: "query", Reason: reason}}}
	}
	if q.Limit < 1 || q.Offset < 0 {
		return fmt.Errorf("limit %d, offset %d: a search needs a limit of at least 1 and an offset of at least 0", q.Limit, q.Offset)
	}
	name := regexp.MustCompile(`^[A-Za-z0-9_]+$`)
	for field, value := range q.Filter {
		if !name.MatchString(field) {
			return fmt.Errorf("filter on %q: not the name of a payload field", field)
		}
		if value == "" || !utf8.ValidString(value) {
			return fmt.Errorf("filter on %s: the value is empty or not UTF-8", field)
		}
	}
	return nil
}

// checkValue walks a payload value: what JSON cannot say is refused here, and
// not by a store in the middle of a batch.
func checkValue(v any) string {
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return ReasonEncoding
		}
	case []string:
		for _, s := range v {
			if !utf8.ValidString(s) {
				return ReasonEncoding
			}
		}
	case []any:
		for _, item := range v {
			if reason := checkValue(item); reason != "" {
				return reason
			}
		}
	case map[string]any:
		for name, item := range v {
			if !utf8.ValidString(name) {
				return ReasonEncoding
			}
			if reason := checkValue(item); reason != "" {
				return reason
			}
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return ReasonValue
		}
	case nil, bool, int, int64:
	default:
		return ReasonValue
	}
	return ""
}
