package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// weaker returns one line for each thing that is weaker than requested, or than the
// strongest level, and for each that is missing.
func weaker(in sandbox.Confinement) []string {
	var lines []string
	if in.Level != policy.Full {
		lines = append(lines, fmt.Sprintf("level %s is in force, which is less than full", in.Level))
	}
	for _, m := range in.Missing {
		switch {
		case strings.HasPrefix(m, "limit "): // a requested one
			lines = append(lines, m)
		case in.Level != policy.Full || strings.HasPrefix(m, "listen: "):
			lines = append(lines, "missing: "+m)
		}
	}
	return lines
}

// runReport is what sandbox run writes for scripts. A nil report is not written.
type runReport struct {
	file *os.File

	Command []string            `json:"command"`
	Level   policy.Level        `json:"level"`   // that is in force; none when the command was not started
	Missing []string            `json:"missing"` // what a stronger level, or the limits, would add
	Weaker  []sandbox.Shortfall `json:"weaker"`  // limits that no cgroup holds
	Code    *int                `json:"code"`    // null when a signal ended it, or it was not started
	Signal  *int                `json:"signal"`
	Error   string              `json:"error,omitempty"` // why it was not started
	Denials []denial.Denial     `json:"denials"`
}

// createPlain creates or truncates the file at path. A symbolic link is an error,
// because a confined command may have made it to redirect the write; links in /dev
// and /proc, such as /dev/stdout, are the system's.
func createPlain(path string) (*os.File, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !strings.HasPrefix(path, "/dev/") && !strings.HasPrefix(path, "/proc/") {
		flags |= sys.NoFollow
	}
	return os.OpenFile(path, flags, 0o666)
}

// openRunReport opens the file of a report before the command runs, so that a file
// that the command makes at that path is not written to.
func openRunReport(path string, command []string) (*runReport, error) {
	if path == "" {
		return nil, nil
	}
	f, err := createPlain(path)
	if err != nil {
		return nil, fmt.Errorf("the report cannot be written: %w", err)
	}
	return &runReport{file: f, Command: command, Level: policy.None, Missing: []string{}, Weaker: []sandbox.Shortfall{}, Denials: []denial.Denial{}}, nil
}

// write writes the report, if there is one.
func (a *app) write(r *runReport, end *ending, err error) {
	if err := r.write(end, err); err != nil {
		fmt.Fprintf(a.errout, "hostsup: sandbox: the report is not written: %s\n", show.Clean(err.Error()))
	}
}

func (r *runReport) started(in sandbox.Confinement) {
	if r != nil {
		r.Level, r.Missing, r.Weaker = in.Level, append(r.Missing, in.Missing...), append(r.Weaker, in.Weaker...)
	}
}

// write writes the report of a command that has ended, or was not started.
func (r *runReport) write(e *ending, err error) error {
	if r == nil {
		return nil
	}
	if err != nil {
		r.Error = err.Error()
	}
	if e != nil {
		r.Denials = append(r.Denials, e.denials...)
		if e.exit.Signal != 0 {
			r.Signal = &e.exit.Signal
		} else {
			r.Code = &e.exit.Code
		}
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return errors.Join(err, r.file.Close())
	}
	_, err = r.file.Write(append(text, '\n'))
	return errors.Join(err, r.file.Close())
}
