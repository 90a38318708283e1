package workspace

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Prefix is the prefix of the events.
const Prefix = "workspaceContains:"

// Timeout is how long a search for patterns in all folders together may take.
const Timeout = 7 * time.Second

// ErrTimeout means that a search did not end in time; patterns without a match by
// then count as not found.
var ErrTimeout = errors.New("search of the workspace took too long")

// Finder searches a workspace folder.
type Finder interface {
	// Exists reports whether a file or folder exists; name is a relative path with
	// slashes.
	Exists(ctx context.Context, folder, name string) (bool, error)
	// Search returns one of the patterns that match a file below the folder, or "" if
	// none does.
	Search(ctx context.Context, folder string, patterns []string) (string, error)
}

// Contains returns the first of the events that matches in the workspace, "" if none
// does. It checks names, which are cheap, before patterns (with * or ?). After an
// error in one folder it searches the others; it returns errors only if nothing is
// found.
func Contains(ctx context.Context, events, folders []string, f Finder) (string, error) {
	var patterns []string
	var errs []error
	for _, event := range events {
		what, ok := strings.CutPrefix(event, Prefix)
		switch {
		case !ok:
			continue
		case strings.ContainsAny(what, "*?"):
			patterns = append(patterns, what)
			continue
		}
		for _, folder := range folders {
			found, err := f.Exists(ctx, folder, what)
			if found {
				return event, nil
			}
			errs = append(errs, err)
		}
	}
	if len(patterns) == 0 {
		return "", errors.Join(errs...)
	}
	limited, cancel := context.WithTimeoutCause(ctx, Timeout, ErrTimeout)
	defer cancel()
	for _, folder := range folders {
		found, err := f.Search(limited, folder, patterns)
		if found != "" {
			return Prefix + found, nil
		}
		if limited.Err() != nil {
			return "", errors.Join(append(errs, context.Cause(limited))...)
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}
