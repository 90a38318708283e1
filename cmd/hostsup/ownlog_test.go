//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
)

// safeBuffer is a buffer that may be written and read at once.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// The log moves between standard error, files and formats while it is used, also in loggers
// that were made before, and no line is lost or written twice.
func TestOwnLogChangesWhileUsed(t *testing.T) {
	var errout safeBuffer
	conf := config.Log{Level: config.LevelInfo, Format: config.FormatText, To: config.LogToStderr, MaxSize: 1 << 20, Files: 4}
	log, err := newOwnLog(&errout, show.Screen{}, conf, "")
	if err != nil {
		t.Fatal(err)
	}
	host := log.Named("ts").With("part", "one")
	change := func(f func(*config.Log)) {
		t.Helper()
		f(&conf)
		if err := log.configure(conf); err != nil {
			t.Fatal(err)
		}
	}
	first, second := filepath.Join(t.TempDir(), "first.log"), filepath.Join(t.TempDir(), "made", "second.log")
	host.Info("to standard error", "life", 7)
	host.Debug("not logged")
	change(func(c *config.Log) { c.Format, c.Level = config.FormatJSON, config.LevelDebug })
	host.Debug("as JSON")
	change(func(c *config.Log) { c.Format, c.File, c.To = config.FormatText, first, config.LogToAuto })
	host.Info("to a file")
	change(func(c *config.Log) { c.Format, c.MaxSize = config.FormatJSON, 1<<10 })
	host.Info("as JSON to the same file")
	change(func(c *config.Log) { c.File = second })
	host.Info("to another file")
	bad := conf
	bad.File = t.TempDir()
	if err := log.configure(bad); err == nil || !strings.Contains(err.Error(), "supervisor.log.file") {
		t.Errorf("a folder as file: %v", err)
	}
	host.Info("still there")
	change(func(c *config.Log) { c.File, c.Format, c.Level = "", config.FormatText, config.LevelOff })
	host.Error("not logged either")
	log.end()

	lines := strings.Split(strings.TrimSuffix(errout.String(), "\n"), "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[0], "[INFO]  hostsup.ts: to standard error: part=one life=7") || !json.Valid([]byte(lines[1])) {
		t.Errorf("standard error: %q", lines)
	}
	b, err := os.ReadFile(first)
	lines = strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if err != nil || len(lines) != 2 || !strings.HasSuffix(lines[0], "[INFO]  hostsup.ts: to a file: part=one") || !json.Valid([]byte(lines[1])) {
		t.Errorf("the first file: %q (%v)", lines, err)
	}
	b, err = os.ReadFile(second)
	if err != nil || strings.Count(string(b), "\n") != 2 || !strings.Contains(string(b), "still there") {
		t.Errorf("the second file: %q (%v)", b, err)
	}
}

// A file that another program has moved is opened again.
func TestOwnLogReopens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.log")
	log, err := newOwnLog(&safeBuffer{}, show.Screen{}, config.Log{Level: config.LevelInfo, File: path}, "")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("before")
	log.errout.flush()
	log.to.(fileTarget).queue.flush()
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	log.reopen()
	log.Info("after")
	log.end()
	if b, err := os.ReadFile(path); err != nil || strings.Count(string(b), "\n") != 1 || !strings.Contains(string(b), "after") {
		t.Errorf("%q (%v)", b, err)
	}
}

// In the journal a line has its level as the priority, and the host and the life that it is
// about as fields.
func TestOwnLogToJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	journal, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	log, err := newOwnLog(&safeBuffer{}, show.Screen{}, config.Log{Level: config.LevelInfo, To: config.LogToJournal}, path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.end()
	names := map[string]bool{"ts": true}
	log.hosts.Store(&names)
	log.Named("ts").Warn("it broke", "life", 7, "why", "so")
	log.Debug("not logged")
	log.Named("control").Error("refused", "host", "db")
	if err := journal.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"PRIORITY=4\nMESSAGE=hostsup.ts: it broke: life=7 why=so\nSYSLOG_IDENTIFIER=hostsup\nLOGGER=hostsup.ts\nHOST=ts\nLIFE=7\n",
		"PRIORITY=3\nMESSAGE=hostsup.control: refused: host=db\nSYSLOG_IDENTIFIER=hostsup\nLOGGER=hostsup.control\nHOST=db\n",
	} {
		b := make([]byte, 1<<16)
		n, err := journal.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(b[:n]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A journal that is asked for and not there is an error; one that goes away is told of on
// standard error, and does not block.
func TestOwnLogWithoutJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	conf := config.Log{Level: config.LevelInfo, To: config.LogToJournal}
	if _, err := newOwnLog(&safeBuffer{}, show.Screen{}, conf, path); err == nil || !strings.Contains(err.Error(), "journal cannot be reached") {
		t.Errorf("without a journal: %v", err)
	}
	journal, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	var errout safeBuffer
	log, err := newOwnLog(&errout, show.Screen{}, conf, path)
	if err != nil {
		t.Fatal(err)
	}
	journal.Close()
	log.Info("nobody takes it")
	log.Info("nor this")
	log.end()
	if got := errout.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "hostsup: the supervisor's log: the journal does not take it: ") {
		t.Errorf("standard error: %q", got)
	}
}

// With auto the log goes to the journal only if standard error leads there.
func TestOwnLogIsOnStandardErrorByDefault(t *testing.T) {
	var errout safeBuffer
	log, err := newOwnLog(&errout, show.Screen{}, config.Log{Level: config.LevelInfo, To: config.LogToAuto}, filepath.Join(t.TempDir(), "none"))
	if err != nil {
		t.Fatal(err)
	}
	log.Info("here")
	log.end()
	if !strings.HasSuffix(errout.String(), "hostsup: here\n") {
		t.Errorf("%q", errout.String())
	}
}
