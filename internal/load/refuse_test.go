package load_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
)

// A refusal is logged and reported: it must not carry what it refused.
func TestRefusalsShowNoText(t *testing.T) {
	const marker = "MARKER"
	w := load.Write{PointID: "p", Key: "memory:mem-0001", Vector: []float32{1}, Payload: map[string]any{
		"record_key": "memory:mem-0001", "kind": "memory", "type": marker, "subject": marker,
	}}
	var writes []load.Write
	for n := range 9 {
		w.PointID = fmt.Sprint(n)
		writes = append(writes, w)
	}
	err := load.Check(writes, 1)
	var refused *load.RefusedError
	if !errors.As(err, &refused) || len(refused.Items) != 9 {
		t.Fatalf("%v", err)
	}
	if strings.Contains(err.Error(), marker) || len(err.Error()) > 400 {
		t.Fatalf("the error is %q", err)
	}
}

func TestOtherDimensionIsClassified(t *testing.T) {
	err := fmt.Errorf("prepare: %w", load.OtherDimension("/x", 3, 4))
	var dimension *load.DimensionError
	if !errors.As(err, &dimension) || dimension.Held != 3 || dimension.Asked != 4 || fault.CodeOf(err) != fault.Usage {
		t.Fatalf("%v", err)
	}
}
