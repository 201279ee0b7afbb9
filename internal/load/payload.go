package load

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/thtbatch/thtbatch/internal/record"
)

const metadataField = "metadata"

// Field is the value of a payload field in either layout: beside the other
// fields, or else in the object "metadata". The fields that are never metadata
// (record.OwnedFields) are read at the top level alone. Null counts as absent.
func Field(payload map[string]any, name string) any {
	if v := payload[name]; v != nil || record.TopLevel(name) {
		return v
	}
	metadata, _ := payload[metadataField].(map[string]any)
	return metadata[name]
}

// String is Field where it is a string, and empty where it is not.
func String(payload map[string]any, name string) string {
	s, _ := Field(payload, name).(string)
	return s
}

// Merge is the payload of a point after a write: the new one over what was
// there, so that nothing of an earlier record lingers. What another writer
// added stays, beside our fields and in the metadata. Neither argument changes.
//
// A point under our own id has our metadata in one layout: what stands in the
// other is removed. A point under another id belongs to a writer that reads it
// too: what stands in the other layout stays there, with the new value. An
// object "metadata" that is emptied stays, since another writer may be about
// to fill it.
func Merge(old map[string]any, w Write) map[string]any {
	kind, _ := w.Payload["kind"].(string)
	fields := append(record.OwnedFields(), record.OwnedMetadata(kind)...)
	merged := maps.Clone(old)
	if merged == nil {
		merged = make(map[string]any, len(w.Payload))
	}
	for _, name := range fields {
		if _, there := merged[name]; there && Foreign(w) && !record.TopLevel(name) {
			merged[name] = Field(w.Payload, name)
		} else {
			delete(merged, name)
		}
	}
	foreign, was := merged[metadataField].(map[string]any)
	update, nested := w.Payload[metadataField].(map[string]any)
	metadata := make(map[string]any, len(foreign)+len(update))
	for name, value := range foreign {
		switch {
		case !slices.Contains(record.OwnedMetadata(kind), name):
			metadata[name] = value
		case Foreign(w):
			metadata[name] = Field(w.Payload, name)
		}
	}
	maps.Copy(merged, w.Payload)
	maps.Copy(metadata, update)
	if was || nested {
		merged[metadataField] = metadata
	}
	return merged
}

// Foreign tells whether a write goes to a point that another writer made: one
// whose id is not ours.
func Foreign(w Write) bool { return w.PointID != record.PointID(w.Key) }

// JSON is a payload as text: sorted keys, no spaces, nothing escaped for HTML.
func JSON(payload map[string]any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(payload); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// reusable reports whether a payload of kind memory may be in use: a type is
// there, and no type that is there, in either layout, is another than the
// reusable one.
func reusable(payload map[string]any) bool {
	found := false
	check := func(fields map[string]any) bool {
		value, there := fields["type"]
		if !there || value == nil {
			return true
		}
		decisionType, _ := value.(string)
		found = true
		return record.Reusable(decisionType)
	}
	metadata, _ := payload[metadataField].(map[string]any)
	return check(payload) && check(metadata) && found
}
