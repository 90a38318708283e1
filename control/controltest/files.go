package controltest

import (
	"context"
	"slices"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/fileinfo"
	"github.com/hostsup/hostsup/workbench/scm"
)

// Files is what extensions say of files, in all hosts.
type Files struct {
	Decorations []fileinfo.Decoration
	Moments     []fileinfo.Moment // of every file
	Originals   []scm.Original    // of every file
	OnAsk       func()            // is called at each question
}

// told returns what belongs to a host; everything if host is "".
func told[T any](s *Supervisor, host string, list []T, of func(T) string) ([]T, error) {
	if err := s.hasExtensions(host); err != nil {
		return nil, err
	}
	if s.Files.OnAsk != nil {
		s.Files.OnAsk()
	}
	return slices.DeleteFunc(slices.Clone(list), func(one T) bool { return host != "" && of(one) != host }), nil
}

// Decorations returns those of Files that belong to the files.
func (s *Supervisor) Decorations(_ context.Context, host string, files []workbench.URI) ([]fileinfo.Decoration, error) {
	list, err := told(s, host, s.Files.Decorations, func(d fileinfo.Decoration) string { return d.Host })
	return slices.DeleteFunc(list, func(d fileinfo.Decoration) bool {
		return !slices.ContainsFunc(files, func(u workbench.URI) bool { return u.String() == d.URI })
	}), err
}

// Timeline returns the first moments of Files.
func (s *Supervisor) Timeline(_ context.Context, host string, _ workbench.URI, limit int) ([]fileinfo.Moment, error) {
	list, err := told(s, host, s.Files.Moments, func(m fileinfo.Moment) string { return m.Host })
	return list[:min(len(list), max(limit, 0))], err
}

// Originals returns those of Files.
func (s *Supervisor) Originals(_ context.Context, host string, _ workbench.URI) ([]scm.Original, error) {
	return told(s, host, s.Files.Originals, func(o scm.Original) string { return o.Host })
}
