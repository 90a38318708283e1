package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hostsup/hostsup/bench/peers"
)

// counted answers so many requests.
type counted struct{ asked, answers int }

var errCounted = errors.New("enough")

func (c *counted) Ask(context.Context) error {
	if c.asked++; c.asked > c.answers {
		return errCounted
	}
	return nil
}

func (c *counted) Close() error { return nil }

func TestWaysTakeTurns(t *testing.T) {
	a, b := &counted{answers: 1 << 30}, &counted{answers: 1 << 30}
	took, err := inTurns([]peers.Asker{a, b}, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []*counted{a, b} {
		if want := c.asked - jsonWarms*jsonTurn; len(took[i]) != want || want < jsonTurn || a.asked != b.asked {
			t.Errorf("way %d: %d times of %d requests, %d and %d", i, len(took[i]), want, a.asked, b.asked)
		}
	}
	if _, err := inTurns([]peers.Asker{a, &counted{answers: 3}}, time.Millisecond); !errors.Is(err, errCounted) {
		t.Errorf("a way that fails: %v", err)
	}
}

func TestJSONTarget(t *testing.T) {
	for added, met := range map[float64]bool{-2_000: true, 60_000: true, 61_000: false} {
		if got := jsonTarget("lines", []float64{1}, []float64{1}, []float64{added, added, 1e9}); got.met() != met {
			t.Errorf("%+v", got)
		}
	}
}

func TestNpmProgram(t *testing.T) {
	root := t.TempDir()
	if path, err := npmProgram(root, "server"); !errors.Is(err, peers.ErrMissing) {
		t.Errorf("%q %v", path, err)
	}
	bin := filepath.Join(root, ".cache/peers/node_modules/.bin")
	if err := errors.Join(os.MkdirAll(bin, 0o755), os.WriteFile(filepath.Join(bin, "server"), nil, 0o755)); err != nil {
		t.Fatal(err)
	}
	if path, err := npmProgram(root, "server"); err != nil || path != filepath.Join(bin, "server") {
		t.Errorf("%q %v", path, err)
	}
}
