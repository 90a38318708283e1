package extensions

import (
	"encoding/json"
	"fmt"
)

// Kinds of differences.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed" // it has another version, manifest or folder
)

// Difference is one extension that differs between two scans of the folders.
type Difference struct {
	Host   string `json:"host"` // the host that specifies the extension
	ID     string `json:"id"`
	Change string `json:"change"` // added, removed, changed
	Before string `json:"before"` // its version; "" (null as JSON) if it was added
	After  string `json:"after"`  // "" (null) if it was removed
}

// MarshalJSON implements json.Marshaler: what is absent is null.
func (d Difference) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Host   string  `json:"host"`
		ID     string  `json:"id"`
		Change string  `json:"change"`
		Before *string `json:"before"`
		After  *string `json:"after"`
	}{d.Host, d.ID, d.Change, orNull(d.Before), orNull(d.After)})
}

// String returns the difference in one line, without the host.
func (d Difference) String() string {
	switch {
	case d.Change == Added:
		return fmt.Sprintf("%s %s was added", d.ID, d.After)
	case d.Change == Removed:
		return fmt.Sprintf("%s %s was removed", d.ID, d.Before)
	case d.Before == d.After:
		return fmt.Sprintf("%s %s has changed", d.ID, d.After)
	}
	return fmt.Sprintf("%s %s has become %s", d.ID, d.Before, d.After)
}
