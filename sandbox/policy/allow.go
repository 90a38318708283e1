package policy

import (
	"fmt"

	"github.com/hostsup/hostsup/sandbox/netproxy"
)

// checkAllow reports entries that the proxy cannot read.
func checkAllow(bad *problems, entries []string) {
	_, err := netproxy.Parse(entries)
	for _, e := range flatten(err) {
		if entry, ok := e.(*netproxy.EntryError); ok {
			bad.add(fmt.Sprintf("allow[%d]", entry.Index), entry.Value, entry.Reason, entry.Help)
			continue
		}
		bad.add("allow", "", e.Error(), "")
	}
}

// flatten returns the errors that err joins; none for nil.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flatten(e)...)
	}
	return all
}
