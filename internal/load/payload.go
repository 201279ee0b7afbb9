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

// Merge is the payload of a point after an update: of what was there, every
// field that is ours is removed, in both layouts, so that nothing of an earlier
// record or layout lingers; then the new one is laid over. What another writer
// added stays, beside our fields and in the metadata. Neither argument changes.
func Merge(old, update map[string]any) map[string]any {
	kind, _ := update["kind"].(string)
	ours := append(record.OwnedFields(), record.OwnedMetadata(kind)...)
	merged := maps.Clone(old)
	if merged == nil {
		merged = make(map[string]any, len(update))
	}
	maps.DeleteFunc(merged, func(name string, _ any) bool { return slices.Contains(ours, name) })

	foreign, _ := merged[metadataField].(map[string]any)
	metadata := make(map[string]any, len(foreign))
	for name, value := range foreign {
		if !slices.Contains(record.OwnedMetadata(kind), name) {
			metadata[name] = value
		}
	}
	if foreign != nil {
		delete(merged, metadataField)
	}
	maps.Copy(merged, update)
	if nested, ok := update[metadataField].(map[string]any); ok {
		maps.Copy(metadata, nested)
	}
	if len(metadata) > 0 {
		merged[metadataField] = metadata
	}
	return merged
}

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
