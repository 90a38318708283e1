package search

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/sandbox"
)

// ripgrep is the engine that runs a program.
type ripgrep struct {
	program string
	starts  *sandbox.Launcher
}

// FindRipgrep returns the path of ripgrep: that of PATH, or the one that a build of VS Code has; ""
// if there is neither.
func FindRipgrep(build string) string {
	if p, err := exec.LookPath("rg"); err == nil {
		if p, err = filepath.Abs(p); err == nil {
			return p
		}
	}
	if build == "" {
		return ""
	}
	name := "rg"
	if runtime.GOOS == "windows" {
		name = "rg.exe"
	}
	p := filepath.Join(build, "node_modules", "@vscode", "ripgrep", "bin", name)
	if info, err := os.Stat(p); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return p
}

// plain are patterns that mean the same for ripgrep as for VS Code. For ripgrep, ? is a byte.
var plain = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w.*/-]+$`) })

// isForRipgrep reports whether ripgrep itself applies an exclude. The others are applied to what it
// finds.
func isForRipgrep(q *query, e exclude) bool {
	return !q.fold && e.When == "" && plain().MatchString(e.Pattern) && !strings.HasPrefix(e.Pattern, "/")
}

// newFilter returns the filter for what ripgrep finds.
func (r *ripgrep) newFilter(q *query) *filter {
	rest := *q
	rest.exclude = slices.DeleteFunc(slices.Clone(q.exclude), func(e exclude) bool { return isForRipgrep(q, e) })
	return newFilter(&rest)
}

// arguments are those that select files.
func (r *ripgrep) arguments(q *query) []string {
	args := []string{r.program, "--no-config", "--hidden", "--no-require-git", "--color=never"}
	for _, e := range q.exclude {
		if !isForRipgrep(q, e) {
			continue
		}
		p := strings.TrimSuffix(e.Pattern, "/")
		if !strings.HasPrefix(p, "**") {
			p = "/" + p
		}
		args = append(args, "-g", "!"+p)
	}
	if !q.local {
		return append(args, "--no-ignore", followArg(q))
	}
	if !q.parent {
		args = append(args, "--no-ignore-parent")
	}
	if !q.global {
		args = append(args, "--no-ignore-global")
	}
	return append(args, followArg(q))
}

func followArg(q *query) string {
	if q.follow {
		return "--follow"
	}
	return "--no-follow"
}

// event is a line of ripgrep --json.
type event struct {
	Type string `json:"type"`
	Data struct {
		Path   rgText  `json:"path"`
		Lines  rgText  `json:"lines"`
		Line   int     `json:"line_number"`
		Binary *uint64 `json:"binary_offset"`
		Subs   []struct {
			Start int `json:"start"`
			End   int `json:"end"`
		} `json:"submatches"`
	} `json:"data"`
}

type rgText struct {
	Text  *string `json:"text"`
	Bytes string  `json:"bytes"`
}

func (t rgText) get() ([]byte, error) {
	if t.Text != nil {
		return []byte(*t.Text), nil
	}
	return base64.StdEncoding.DecodeString(t.Bytes)
}

// text implements engine.
func (r *ripgrep) text(ctx context.Context, q *query, p *pattern, c charset, found func(rel string, blocks []block) bool) error {
	args := append(r.arguments(q), "--json", "--crlf")
	if p.caseMatch {
		args = append(args, "--case-sensitive")
	} else {
		args = append(args, "--ignore-case")
	}
	if c.label != "" {
		args = append(args, "--encoding", c.label)
	}
	if p.multiline {
		args = append(args, "--multiline")
	}
	if p.pcre {
		args = append(args, "--pcre2")
	}
	if p.fixed != "" {
		args = append(args, "--fixed-strings", "--regexp", p.fixed)
	} else {
		args = append(args, "--regexp", p.ripgrep)
	}
	args = append(args, "--", "./")
	keep := r.newFilter(q)
	var blocks []block
	return r.run(ctx, q.folder, args, func(line []byte) (bool, error) {
		if bytes.HasPrefix(line, []byte(`{"type":"begin"`)) || bytes.HasPrefix(line, []byte(`{"type":"summary"`)) {
			blocks = nil
			return true, nil
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return false, fmt.Errorf("ripgrep: a line that is no JSON: %w", err)
		}
		switch e.Type {
		case "match":
			text, err := e.Data.Lines.get()
			if err != nil {
				return false, fmt.Errorf("ripgrep: %w", err)
			}
			b := block{line: e.Data.Line - 1, text: text}
			for _, s := range e.Data.Subs {
				if s.Start < 0 || s.End < s.Start || s.End > len(text) {
					return false, fmt.Errorf("ripgrep: match %d-%d of %d bytes", s.Start, s.End, len(text))
				}
				b.matches = append(b.matches, []int{s.Start, s.End})
			}
			blocks = append(blocks, b)
		case "end":
			name, err := e.Data.Path.get()
			if err != nil {
				return false, fmt.Errorf("ripgrep: %w", err)
			}
			rel := lowerSlash(string(name))
			if e.Data.Binary == nil && len(blocks) > 0 && keep.has(rel) {
				return found(rel, blocks), nil
			}
		}
		return true, nil
	})
}

// errorLines is how much of what ripgrep prints about errors is kept.
const errorLines = 4 << 10

// run runs ripgrep and calls each with the lines that it prints. It kills and reaps the process before
// it returns.
func (r *ripgrep) run(ctx context.Context, dir string, args []string, each func([]byte) (bool, error)) error {
	out, stdout, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	errs, stderr, err := os.Pipe()
	if err != nil {
		stdout.Close()
		return err
	}
	defer errs.Close()
	child, err := r.starts.Start(&sandbox.Command{
		Name: "ripgrep", Path: r.program, Args: args, Dir: dir, Files: []*os.File{nil, stdout, stderr},
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "XDG_CONFIG_HOME=" + os.Getenv("XDG_CONFIG_HOME")},
	})
	stdout.Close()
	stderr.Close()
	if err != nil {
		return err
	}
	defer child.Release()
	stop := context.AfterFunc(ctx, func() { _ = child.KillTree() })
	defer stop()
	problem := make(chan []byte, 1)
	go func() {
		first, _ := io.ReadAll(io.LimitReader(errs, errorLines))
		_, _ = io.Copy(io.Discard, errs)
		problem <- first
	}()
	printed, more, err := read(out, each)
	if err != nil || !more {
		_ = child.KillTree()
	}
	const wait = 10 * time.Second
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-child.Done():
	case <-timer.C:
		return errors.Join(err, child.KillTree(), child.Stuck())
	}
	// What it has printed ends with its tree.
	err = errors.Join(err, child.KillTree(), child.AwaitGone(wait))
	text := <-problem
	switch exit := child.Exit(); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil || !more:
		return err
	case exit.Signal != 0:
		return fmt.Errorf("ripgrep was killed by signal %d", exit.Signal)
	case exit.Code > 1 && !printed && !isAboutFile(text):
		line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n\n")
		return fmt.Errorf("ripgrep: %s", line)
	}
	return nil // files that it could not read have no results
}

// isAboutFile reports whether an error of ripgrep is about one of the files.
func isAboutFile(text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("rg: "))
	return len(text) == 0 || bytes.HasPrefix(text, []byte("./"))
}

// read calls each with the lines.
func read(r io.Reader, each func([]byte) (bool, error)) (printed, more bool, err error) {
	b := bufio.NewReaderSize(r, 64<<10)
	var long []byte
	for {
		part, err := b.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			continue
		}
		if len(long) > 0 {
			part = append(long, part...)
			long = long[:0]
		}
		if err != nil {
			return printed, true, nil //nolint:nilerr // the end, or a part of the last line of a process that was killed
		}
		printed = true
		if more, err := each(part[:len(part)-1]); err != nil || !more {
			return printed, false, err
		}
	}
}
