package main

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/internal/journald"
)

// stderrTarget is standard error.
type stderrTarget struct {
	hclog.SinkAdapter
	queue *logQueue
}

func (stderrTarget) reopen() {}
func (t stderrTarget) end()  { t.queue.flush() }

// fileTarget is a file that rotates.
type fileTarget struct {
	hclog.SinkAdapter
	path  string
	file  *capture.File
	queue *logQueue
}

func (t fileTarget) reopen() { t.file.Reopen() }

func (t fileTarget) end() {
	t.queue.flush()
	_ = t.file.Close() // what could not be written has been told
}

// shareOutput reports whether two targets have the same open file or connection.
func shareOutput(a, b logTarget) bool {
	switch a := a.(type) {
	case fileTarget:
		b, ok := b.(fileTarget)
		return ok && a.file == b.file
	case *journalTarget:
		b, ok := b.(*journalTarget)
		return ok && a.client == b.client
	}
	return true // there is one standard error
}

func (o *ownLog) fileTarget(conf config.Log, old logTarget) (logTarget, error) {
	rules := capture.Rules{
		MaxSize: conf.MaxSize, Files: conf.Files, RotateEvery: conf.RotateEvery, MaxAge: conf.MaxAge, Compress: conf.Compress,
	}
	t, ok := old.(fileTarget)
	if ok && t.path == conf.File {
		t.file.SetRules(rules)
	} else {
		file, err := capture.OpenFile(conf.File, capture.FileOptions{
			Rules:   rules,
			Packer:  capture.Gzip{},
			Missing: func(n uint64, cause error) []byte { return o.lostRemark(int(n), cause.Error()) },
			OnError: o.complain,
		})
		if err != nil {
			return nil, fmt.Errorf("supervisor.log.file: %w", err)
		}
		t = fileTarget{path: conf.File, file: file}
		t.queue = newLogQueue(file, func(n int) []byte { return o.lostRemark(n, "the disk was too slow") })
	}
	t.SinkAdapter = hclog.NewSinkAdapter(logOptions(t.queue, show.Screen{}, conf))
	return t, nil
}

// journalTarget is the journal of the system.
type journalTarget struct {
	log    *ownLog
	client *journald.Client
	sender *journald.Sender
	losses *losses

	mu   sync.Mutex
	line bytes.Buffer      // what text has written
	text hclog.SinkAdapter // formats a line
}

// losses counts lines that the journal did not take.
type losses struct {
	log     *ownLog
	remarks *journald.Sender // lines that say how many

	mu     sync.Mutex
	n      int // that no remark has counted
	remark int // that the remark under way counts
	told   time.Time
}

// complaintEvery is how often standard error is told that the journal loses lines.
const complaintEvery = time.Minute

func (o *ownLog) journalTarget(conf config.Log, old logTarget) (logTarget, error) {
	t := &journalTarget{log: o}
	if was, ok := old.(*journalTarget); ok {
		t.client, t.sender, t.losses = was.client, was.sender, was.losses
	} else {
		path := o.socket
		if path == "" {
			path = journald.Socket
		}
		conn, err := net.Dial("unixgram", path)
		if err != nil {
			return nil, fmt.Errorf("supervisor.log: the journal cannot be reached: %w", err)
		}
		_ = conn.Close() // it was a question
		t.client, t.losses = journald.New(path), &losses{log: o}
		t.sender, t.losses.remarks = t.client.Sender(t.losses.outcome), t.client.Sender(t.losses.remarked)
	}
	// The journal has the time and the level; fields are in both.
	t.text = hclog.NewSinkAdapter(&hclog.LoggerOptions{Output: &t.line, DisableTime: true, Level: hclog.LevelFromString(string(conf.Level))})
	return t, nil
}

func (t *journalTarget) reopen() {}

func (t *journalTarget) end() { _ = t.client.Close() } // what is lost has been told

// Accept implements [hclog.SinkAdapter].
func (t *journalTarget) Accept(name string, level hclog.Level, msg string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line.Reset()
	t.text.Accept(name, level, msg, args...)
	_, line, ok := bytes.Cut(t.line.Bytes(), []byte("] ")) // after the level
	if !ok {
		return // the level is not logged
	}
	fields := []journald.Field{{Name: "SYSLOG_IDENTIFIER", Value: "hostsup"}, {Name: "LOGGER", Value: name}}
	host, life := t.log.host(name), ""
	for i := 0; i+1 < len(args); i += 2 {
		switch args[i] {
		case "host":
			host = fmt.Sprint(args[i+1])
		case "life":
			life = fmt.Sprint(args[i+1])
		}
	}
	if host != "" {
		fields = append(fields, journald.Field{Name: "HOST", Value: host})
	}
	if life != "" {
		fields = append(fields, journald.Field{Name: "LIFE", Value: life})
	}
	if err := t.sender.Send(priority(level), string(bytes.TrimSpace(line)), fields...); err != nil {
		t.losses.outcome(0, err)
	}
}

// outcome counts a line that was lost. After one that was not it sends a remark about those.
func (l *losses) outcome(_ int, err error) {
	if err != nil {
		l.add(err)
		return
	}
	l.mu.Lock()
	n := l.n
	if n == 0 || l.remark > 0 {
		l.mu.Unlock()
		return
	}
	l.n, l.remark = 0, n
	l.mu.Unlock()
	text := fmt.Sprintf("%d lines of the log were lost before this one: the journal did not take them", n)
	if err := l.remarks.Send(journald.Warning, text, journald.Field{Name: "SYSLOG_IDENTIFIER", Value: "hostsup"}); err != nil {
		l.remarked(0, err)
	}
}

// remarked is the outcome of a remark. What one that is lost has counted, another one will.
func (l *losses) remarked(_ int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.n += l.remark
	}
	l.remark = 0
}

// add counts a line that was lost, and tells standard error of it now and then.
func (l *losses) add(why error) {
	l.mu.Lock()
	l.n++
	now := time.Now()
	tell := l.told.IsZero() || now.Sub(l.told) >= complaintEvery
	if tell {
		l.told = now
	}
	l.mu.Unlock()
	if tell {
		l.log.complain(fmt.Errorf("the journal does not take it: %w", why))
	}
}

// priority returns the priority of a level in the journal.
func priority(level hclog.Level) int {
	switch level {
	case hclog.Error:
		return journald.Err
	case hclog.Warn:
		return journald.Warning
	case hclog.Info:
		return journald.Info
	}
	return journald.Debug
}
