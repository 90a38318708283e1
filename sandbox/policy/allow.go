package policy

import (
	"errors"
	"fmt"

	entries "github.com/hostsup/hostsup/sandbox/allow"
)

// checkAllow reports entries that the proxy cannot read.
func checkAllow(bad *Problems, list []string) {
	_, err := entries.Parse(list)
	for _, e := range flatten(err) {
		var entry *entries.EntryError
		if errors.As(e, &entry) {
			bad.Add(fmt.Sprintf("allow[%d]", entry.Index), entry.Value, entry.Reason, entry.Help)
			continue
		}
		bad.Add("allow", "", e.Error(), "")
	}
}

// flatten returns the errors that err joins; nil for a nil err.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flatten(e)...)
	}
	return all
}
