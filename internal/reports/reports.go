// Package reports keeps crash reports. These bodies hold the signatures that
// package supervisor uses; the store on disk replaces them.
package reports

import (
	"errors"
	"sync"
	"time"
)

var ErrNotFound = errors.New("nf")

type Options struct {
	Keep    int
	OnError func(error)
}
type Store[T any] struct {
	mu    sync.Mutex
	m     map[string]T
	ids   []string
	hosts map[string]string
}

func Open[T any](dir string, o Options) (*Store[T], error) {
	return &Store[T]{m: map[string]T{}, hosts: map[string]string{}}, nil
}
func (s *Store[T]) Add(id string, t time.Time, host string, v T) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m[id] = v
	s.ids = append(s.ids, id)
	s.hosts[id] = host
	return nil
}
func (s *Store[T]) List(host string) ([]T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var o []T
	for _, i := range s.ids {
		if host == "" || s.hosts[i] == host {
			o = append(o, s.m[i])
		}
	}
	return o, nil
}
func (s *Store[T]) Get(id string) (T, error) {
	var z T
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.m[id]
	if !ok {
		return z, ErrNotFound
	}
	return v, nil
}
func (s *Store[T]) Close() error            { return nil }
func NewID(host string, t time.Time) string { return t.Format("20060102-150405.000") + host }
