package jobs

import (
	"context"
	"errors"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/plan"
	"github.com/thtbatch/thtbatch/internal/record"
	"github.com/thtbatch/thtbatch/internal/state"
	"github.com/thtbatch/thtbatch/internal/warehouse"
)

// write inserts and updates one batch, confirms it by reading back the hashes,
// and returns what is confirmed. A record that the store refuses is reported,
// and the others are written without it.
func (a *applier) write(ctx context.Context, items []item) ([]warehouse.Applied, error) {
	if len(items) == 0 {
		return nil, nil
	}
	// The index may have another writer: what was planned as an insert and is
	// there by now is updated where it is.
	ids, err := a.askAgain(ctx, items)
	if err != nil {
		return nil, err
	}
	writes := make([]load.Write, len(items))
	for i, it := range items {
		writes[i] = load.Write{
			PointID: ids[i], Key: it.Record.Key, Vector: it.vector,
			Payload: it.Record.Payload(a.space, a.r.run.RunID, a.r.env.Now()),
		}
	}
	err = a.store.Write(ctx, writes)
	var refused *load.RefusedError
	if errors.As(err, &refused) {
		return a.withoutRefused(ctx, items, writes, refused)
	}
	if err != nil {
		return nil, err
	}
	return a.confirm(ctx, items, writes)
}

// withoutRefused reports what the store refused, and confirms the others, or
// writes them where nothing was written.
func (a *applier) withoutRefused(ctx context.Context, items []item, writes []load.Write, refused *load.RefusedError) ([]warehouse.Applied, error) {
	reasons := map[string]string{}
	for _, f := range refused.Items {
		reasons[f.Key] = f.Reason
	}
	var kept []item
	var written []load.Write
	for i, it := range items {
		if reason, is := reasons[it.Record.Key]; is {
			if reason == load.ReasonOtherWorkspace {
				return nil, fault.New(fault.Guard, "other_workspace", "key", it.Record.Key, "owner", "?", "workspace", a.r.env.Settings.Workspace)
			}
			a.r.fail(a, it.Work, reason, load.Permanent(reason))
			continue
		}
		kept, written = append(kept, it), append(written, writes[i])
	}
	if len(kept) == len(items) {
		return nil, refused // it names none of ours: nothing would change
	}
	if refused.OthersWritten {
		return a.confirm(ctx, kept, written)
	}
	return a.write(ctx, kept)
}

// askAgain looks the batch's inserts up once more and returns the point ids.
func (a *applier) askAgain(ctx context.Context, items []item) ([]string, error) {
	ids := make([]string, len(items))
	var keys []string
	for i, it := range items {
		ids[i] = it.PointID
		if it.Action == plan.Insert {
			ids[i] = record.PointID(it.Record.Key)
			keys = append(keys, it.Record.Key)
		}
	}
	if len(keys) == 0 {
		return ids, nil
	}
	points, err := a.store.Lookup(ctx, keys)
	if err != nil {
		return nil, err
	}
	there := map[string]string{}
	for _, p := range points {
		if !record.Ours(p.Kind) {
			continue // whatever its key says
		}
		if p.Workspace != "" && p.Workspace != a.r.env.Settings.Workspace {
			return nil, fault.New(fault.Guard, "other_workspace", "count", 1, "key", p.Key, "owner", p.Workspace, "workspace", a.r.env.Settings.Workspace)
		}
		if _, ok := there[p.Key]; !ok {
			there[p.Key] = p.ID
		}
	}
	for i, it := range items {
		if id, ok := there[it.Record.Key]; ok && it.Action == plan.Insert {
			ids[i] = id
		}
	}
	return ids, nil
}

func (a *applier) confirm(ctx context.Context, items []item, writes []load.Write) ([]warehouse.Applied, error) {
	if len(items) == 0 {
		return nil, nil
	}
	keys := make([]string, len(items))
	for i, it := range items {
		keys[i] = it.Record.Key
	}
	points, err := a.store.Lookup(ctx, keys)
	if err != nil {
		return nil, err
	}
	held := map[string]load.Point{}
	for _, p := range points {
		held[p.ID] = p
	}
	var applied []warehouse.Applied
	for i, it := range items {
		p, ok := held[writes[i].PointID]
		if !ok || p.PayloadHash != it.Record.PayloadHash || p.ContentHash != it.Record.ContentHash || p.EmbedSpace != a.space {
			a.r.fail(a, it.Work, "not confirmed: the index does not hold what was written", false)
			continue
		}
		applied = append(applied, warehouse.Applied{
			Key: it.Record.Key, Kind: it.Record.Kind, Ref: it.Record.Ref, ContentHash: p.ContentHash, Space: a.space, PointID: p.ID,
		})
		a.r.count(func(run *state.Run) {
			switch it.Action {
			case plan.Insert:
				run.Inserted++
			case plan.Reembed, plan.Update:
				run.Updated++
			default:
				run.Repayloaded++
			}
		})
	}
	return applied, nil
}
