package workspace

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Prefix is what the events begin with.
const Prefix = "workspaceContains:"

// Timeout is how long a search for patterns may take, all folders together.
const Timeout = 7 * time.Second

// ErrTimeout says that a search did not end in time; what was not found by
// then counts as not there.
var ErrTimeout = errors.New("search of the workspace took too long")

// Finder looks into a workspace folder.
type Finder interface {
	// Exists says whether there is a file or folder of that name, a relative
	// path with slashes.
	Exists(ctx context.Context, folder, name string) (bool, error)
	// Search returns one of the patterns that match a file below the folder, or
	// "" when none does.
	Search(ctx context.Context, folder string, patterns []string) (string, error)
}

// Contains returns the first of the events for which the workspace has
// something, "" when there is none. Names, which cost little, are looked for
// before patterns (with * or ?). An error of one folder does not keep the
// others from being looked at; errors are returned only when nothing is found.
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
