package plan_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/thtbatch/thtbatch/internal/plan"
)

func TestActionsAndWhatTheyWrite(t *testing.T) {
	writes := map[plan.Action]bool{
		"retracted": false, "withheld": false, "orphan": false, "twin": false, "insert": true, "adopt": true, "foreign": false,
		"reembed": true, "update": true, "repayload": true, "unchanged": false,
	}
	actions := plan.Actions()
	if len(actions) != len(writes) || len(slices.Compact(slices.Sorted(slices.Values(actions)))) != len(actions) {
		t.Errorf("the actions are %v", actions)
	}
	for _, a := range actions {
		if want, known := writes[a]; !known || a.Writes() != want {
			t.Errorf("%s: writes %t, known %t", a, a.Writes(), known)
		}
	}
	if plan.Action("delete").Writes() {
		t.Error("an unknown action writes")
	}
}

// sums of a plan over sources and points, some of which meet, with twins, and
// points that a scope leaves out.
func sums(rt *rapid.T) plan.Sums {
	n := func(name string) int { return rapid.IntRange(0, 50).Draw(rt, name) }
	both, onlySources, onlyPoints, twins, outside := n("both"), n("sources"), n("points"), n("twins"), n("outside")
	rows := both + onlySources + onlyPoints + twins
	return plan.Sums{
		Sources: both + onlySources, Points: both + onlyPoints + twins + outside, OfSources: both + onlySources,
		OfPoints: both + onlyPoints + twins, PointsOutside: outside, PlanRows: rows, RowsByAction: rows,
	}
}

// A plan that covers everything once passes; with any of its sums one off it
// does not.
func TestCheckFindsWhatIsLeftOutOrTwice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := sums(rt)
		if err := s.Check(); err != nil {
			rt.Fatal(err)
		}
		off := s
		by := rapid.SampledFrom([]int{-1, 1}).Draw(rt, "by")
		field := rapid.SampledFrom([]*int{
			&off.Sources, &off.Points, &off.OfSources, &off.OfPoints, &off.PointsOutside, &off.PlanRows, &off.RowsByAction,
		}).Draw(rt, "field")
		*field += by
		if err := off.Check(); err == nil || !strings.Contains(err.Error(), "no partition") {
			rt.Fatalf("%+v passes, %v", off, err)
		}
		s.UnknownActions = 1
		if s.Check() == nil {
			rt.Fatal("an unknown action passes")
		}
	})
}
