package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/supervisor"
)

// ownLog is the supervisor's own log. Where it goes and what a line looks like can be
// changed while it is used. It never blocks. [ownLog.end] must be called before the program
// ends.
type ownLog struct {
	hclog.InterceptLogger
	screen    show.Screen // standard error
	errout    *logQueue   // the way there
	isJournal bool        // standard error leads into the journal
	socket    string      // of the journal; "": where it is

	json  atomic.Bool                     // the format
	hosts atomic.Pointer[map[string]bool] // names, for the journal
	note  atomic.Pointer[func(string)]    // writes an event; nil: there is no tree yet

	mu sync.RWMutex // held while a line is accepted, and for writing while to is changed
	to logTarget
}

// logTarget is where the lines of a log go.
type logTarget interface {
	hclog.SinkAdapter
	reopen() // for a file that was moved
	end()    // waits a moment for what is written, and closes it
}

// newOwnLog returns a log as configured; w is standard error, and scr is what that shows. socket is that of the journal; "" stands for
// the system's. The error says which file or journal cannot be opened.
func newOwnLog(w io.Writer, scr show.Screen, conf config.Log, socket string) (*ownLog, error) {
	o := &ownLog{screen: scr, socket: socket}
	o.errout = newLogQueue(w, func(n int) []byte { return o.lostRemark(n, "standard error was not read") })
	o.isJournal, _ = journal.StderrIsJournalStream() // an error: not that one
	o.setHosts(nil)
	// The sink does the work; what this logger prints itself is for nobody.
	o.InterceptLogger = hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "hostsup", Output: io.Discard})
	if err := o.configure(conf); err != nil {
		return nil, err
	}
	o.RegisterSink(o)
	return o, nil
}

// Accept implements [hclog.SinkAdapter].
func (o *ownLog) Accept(name string, level hclog.Level, msg string, args ...any) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	o.to.Accept(name, level, msg, args...)
}

// configure puts another configuration in force. With an error the one before stays. It must
// not be called concurrently.
func (o *ownLog) configure(conf config.Log) error {
	old := o.to
	next, err := o.target(conf, old)
	if err != nil {
		return err
	}
	o.json.Store(conf.Format == config.FormatJSON)
	o.SetLevel(hclog.LevelFromString(string(conf.Level)))
	o.mu.Lock()
	o.to = next
	o.mu.Unlock()
	if old != nil && !shareOutput(old, next) {
		old.end()
	}
	return nil
}

// target returns the target for a configuration, with the open file or connection of old if
// that is the same.
func (o *ownLog) target(conf config.Log, old logTarget) (logTarget, error) {
	switch {
	case conf.File != "":
		return o.fileTarget(conf, old)
	case conf.To == config.LogToJournal, conf.To == config.LogToAuto && o.isJournal:
		return o.journalTarget(conf, old)
	}
	return stderrTarget{hclog.NewSinkAdapter(logOptions(o.errout, o.screen, conf)), o.errout}, nil
}

// reopen opens the file again that the log goes to, if it does.
func (o *ownLog) reopen() {
	o.mu.RLock()
	defer o.mu.RUnlock()
	o.to.reopen()
}

// end waits a moment for what is written.
func (o *ownLog) end() {
	o.DeregisterSink(o)
	o.to.end()
	o.errout.flush()
}

// setHosts says which names are those of hosts.
func (o *ownLog) setHosts(hosts []*supervisor.Host) {
	names := make(map[string]bool, len(hosts))
	for _, h := range hosts {
		names[h.Name()] = true
	}
	o.hosts.Store(&names)
}

// host returns which host a line of the logger called name is about; "" if about none.
func (o *ownLog) host(name string) string {
	name = strings.TrimPrefix(name, "hostsup.")
	if first, _, _ := strings.Cut(name, "~"); !(*o.hosts.Load())[name] && !(*o.hosts.Load())[first] {
		return ""
	}
	return name
}

// complain writes to standard error, and into the history of the tree, what cannot be
// written where the log goes.
func (o *ownLog) complain(err error) {
	fmt.Fprintf(o.errout, "hostsup: the supervisor's log: %v\n", err)
	if note := o.note.Load(); note != nil {
		(*note)("the supervisor's log: " + err.Error())
	}
}

// lostRemark returns a line of the log that counts lines that are missing before it.
func (o *ownLog) lostRemark(n int, why string) []byte { return lostRemark(n, why, o.json.Load()) }

func lostRemark(n int, why string, json bool) []byte {
	text := fmt.Sprintf("%d lines of the log were lost here: %s", n, why)
	if !json {
		return []byte("hostsup: " + text + "\n")
	}
	var b bytes.Buffer
	hclog.New(&hclog.LoggerOptions{Name: "hostsup", Output: &b, JSONFormat: true}).Warn(text)
	return b.Bytes()
}

// logOptions are those of a log to w, as fits scr.
func logOptions(w io.Writer, scr show.Screen, conf config.Log) *hclog.LoggerOptions {
	opt := &hclog.LoggerOptions{
		Name:       "hostsup",
		Level:      hclog.LevelFromString(string(conf.Level)),
		Output:     w,
		JSONFormat: conf.Format == config.FormatJSON,
	}
	if scr.Terminal && !opt.JSONFormat {
		opt.TimeFormat = "15:04:05.000"
		if scr.Color {
			opt.Color, opt.ColorHeaderAndFields = hclog.ForceColor, true
		}
	}
	return opt
}
