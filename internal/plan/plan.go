// Package plan names the actions of a plan and holds what must be true of
// every plan. The plan itself is computed by one statement over the sources
// and what the index holds; here is no I/O and no clock.
package plan

import "fmt"

// Action is what is done with one record.
type Action string

// The actions, in the order in which the first that fits is taken.
const (
	Retracted Action = "retracted" // a reviewer took it out of use
	Withheld  Action = "withheld"  // the source exists and may not be indexed
	Orphan    Action = "orphan"    // in the index without a source: reported
	Twin      Action = "twin"      // a second point with one key: reported
	Insert    Action = "insert"
	Adopt     Action = "adopt"   // another writer's point becomes ours
	Foreign   Action = "foreign" // another writer's point stays theirs: reported
	Reembed   Action = "reembed"
	Update    Action = "update"
	Repayload Action = "repayload"
	Unchanged Action = "unchanged"
)

// Actions lists all of them, in their order.
func Actions() []Action {
	return []Action{Retracted, Withheld, Orphan, Twin, Insert, Adopt, Foreign, Reembed, Update, Repayload, Unchanged}
}

// Writes tells whether the action changes the index.
func (a Action) Writes() bool {
	switch a {
	case Insert, Adopt, Reembed, Update, Repayload:
		return true
	}
	return false
}

// Count is how many records of a kind have an action.
type Count struct {
	Kind   string
	Action Action
	Count  int
}

// Sums are what a plan is checked with before anything is loaded.
type Sums struct {
	Sources        int // records that should be or could be in the index
	Points         int // points of our kinds that the index holds
	OfSources      int // plan rows of sources, twins left out
	OfPoints       int // plan rows that name a point
	PointsOutside  int // points outside the scope of the run, which have no row
	PlanRows       int
	RowsByAction   int
	UnknownActions int
}

// Check refuses a plan that is no partition: every source has one row, every
// point in scope has one row.
func (s Sums) Check() error {
	switch {
	case s.OfSources != s.Sources:
		return fmt.Errorf("the plan is no partition: %d sources, %d rows for them", s.Sources, s.OfSources)
	case s.OfPoints != s.Points-s.PointsOutside:
		return fmt.Errorf("the plan is no partition: %d points in scope, %d rows for them", s.Points-s.PointsOutside, s.OfPoints)
	case s.RowsByAction != s.PlanRows || s.UnknownActions > 0:
		return fmt.Errorf("the plan is no partition: %d rows, %d counted by action, %d with an unknown action",
			s.PlanRows, s.RowsByAction, s.UnknownActions)
	}
	return nil
}
