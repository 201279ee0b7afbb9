package extract

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sys/unix"
)

// RegistryResult is what one look at the registry found.
type RegistryResult struct {
	Stamp     Stamp
	Unchanged bool  // since the known stamp; nothing was emitted and the counts are 0
	Lines     int64 // physical lines
	Records   int   // readable ones
	Bad       int   // the others, but for blank ones
}

// ReadRegistry reads the registry at path, through a symbolic link if it is one,
// unless its stamp says that it did not change; known is nil when there is no
// earlier stamp. The rule is that of Read. Otherwise everything in it is emitted,
// in batches of either kind that are nil when empty and are released when emit
// returns; an empty registry emits nothing. What was emitted is the content that
// Stamp describes.
//
// It fails with ErrNoRegistry when there is no file, with the system's error when
// it cannot be read or is no regular file, with emit's, and the context's.
func ReadRegistry(ctx context.Context, path string, known *Stamp, o Options,
	emit func(memories, faults arrow.RecordBatch) error) (RegistryResult, error) {
	o = o.withDefaults()
	result, content, err := openRegistry(ctx, path, known, o)
	if err != nil {
		return RegistryResult{}, fmt.Errorf("read registry %s: %w", path, err)
	}
	if result.Unchanged {
		return result, nil
	}
	r := registryReader{
		options: o, emit: emit, result: &result,
		memories: newTable(MemorySchema()), faults: newTable(FaultSchema()),
	}
	defer r.memories.release()
	defer r.faults.release()
	if err := r.read(ctx, content); err != nil {
		return result, fmt.Errorf("read registry %s: %w", path, err)
	}
	return result, nil
}

// openRegistry takes the stamp and, when that is new, the content.
func openRegistry(ctx context.Context, path string, known *Stamp, o Options) (result RegistryResult, content []byte, err error) {
	var r fileReader
	now := &result.Stamp
	err = ignoringEINTR(func() error { return unix.Stat(path, &r.st) })
	if gone(err) {
		return result, nil, fmt.Errorf("%w: %w", ErrNoRegistry, err)
	}
	if err != nil {
		return result, nil, err
	}
	now.setStat(&r.st)
	if t := r.usable(); t != noTrouble {
		return result, nil, t.err()
	}
	if known != nil && !o.Rescan && known.settled(now) {
		result.Stamp, result.Unchanged = *known, true
		return result, nil, nil
	}
	readAt := o.Now().UnixNano()
	content, t, err := r.read(ctx, unix.AT_FDCWD, path, true, now)
	switch {
	case err != nil:
		return result, nil, err
	case t != noTrouble:
		return result, nil, t.err()
	case now.Missing():
		return result, nil, ErrNoRegistry
	}
	now.ReadAtNS = readAt
	now.setDigest(content)
	result.Unchanged = known != nil && !o.Rescan && known.sameContent(now)
	return result, content, nil
}

type registryReader struct {
	options          Options
	emit             func(memories, faults arrow.RecordBatch) error
	result           *RegistryResult
	record           recordReader
	memories, faults *table
	size             int64
}

func (r *registryReader) read(ctx context.Context, content []byte) error {
	r.record.start(content)
	var m memoryLine
	for l := range lines(content) {
		if r.result.Lines = l.number; l.number%linesBetweenCtx == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if l.blank() {
			continue
		}
		if reason := r.parse(l, &m); reason != "" {
			r.result.Bad++
			r.faults.null()
			r.faults.lineFault(RegistryFile, r.options.ScanID, l, reason, r.options.FullExcerpt)
		} else {
			r.result.Records++
			r.memory(l, &m)
		}
		if r.size += int64(len(l.text)); r.size >= r.options.BatchBytes {
			if err := r.flush(); err != nil {
				return err
			}
		}
	}
	return r.flush()
}

func (r *registryReader) flush() error {
	r.size = 0
	memories, faults := r.memories.take(), r.faults.take()
	if memories == nil && faults == nil {
		return nil
	}
	err := r.emit(memories, faults)
	if memories != nil {
		memories.Release()
	}
	if faults != nil {
		faults.Release()
	}
	return err
}

func (r *registryReader) memory(l line, m *memoryLine) {
	t := r.memories
	t.int(l.number)
	t.int(l.offset)
	t.bytes(m.texts[memoryID])
	if m.hasTS {
		t.micros(m.ts)
	} else {
		t.null()
	}
	t.bytes(m.texts[memorySessionID])
	if m.decisionSeq == 0 {
		t.null()
	} else {
		t.int(m.decisionSeq)
	}
	for _, text := range m.texts[memoryType:] {
		t.bytes(text)
	}
	t.list(m.tables)
	t.list(m.concepts)
	if m.extra == nil {
		t.null()
	} else {
		t.bytes(m.extra)
	}
}
