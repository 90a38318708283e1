package documents

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/hostsup/hostsup/workbench"
)

// maxDepth is how often participants of file operations may answer operations of participants with
// operations of their own.
const maxDepth = 8

// The bounds of the file operations of a workspace edit. Each is compared with those before it, and
// participants may answer each one with several, which participants answer again.
const (
	maxOperations = 10_000 // of the edit itself
	maxAnswered   = 1000   // of all participants together
)

// count counts an operation. The error of one too many leaves out what a participant has answered, or
// refuses the edit if it is one of its own.
func (b *bulk) count() error {
	if b.depth > 0 {
		if b.answered++; b.answered > maxAnswered {
			return refuse("extensions answer file operations with more than %d file operations, which is the limit", maxAnswered)
		}
		return nil
	}
	if b.operations++; b.operations > maxOperations {
		return refuse("a workspace edit of at most %d file operations expected", maxOperations)
	}
	return nil
}

// planFiles plans operations of one kind. Before them it plans the edits of the extensions that take
// part in such operations, so that all of it is made or nothing, in one step of undo. Extensions see
// the files as they are before the whole edit.
func (b *bulk) planFiles(ctx context.Context, edits []change, steps []step) ([]step, error) {
	var runs []filesRun
	before := len(b.news)
	for _, e := range edits {
		if err := b.count(); err != nil {
			return nil, err
		}
		run, err := b.run(e)
		if err != nil {
			return nil, err
		}
		skip, err := b.skips(run)
		if err != nil {
			return nil, err
		}
		if !skip {
			runs = append(runs, run)
			b.news = append(b.news, run)
		}
	}
	b.news = b.news[:before]
	if len(runs) == 0 {
		return steps, nil
	}
	steps = b.participate(ctx, runs, steps)
	b.batches++
	batch := b.batches
	for _, run := range runs {
		run.batch = batch
		var err error
		if steps, err = b.planFile(run, steps); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// participate plans what the extensions of all hosts answer, host by host. What fails, takes too long
// or cannot be made is left out, as in VS Code.
func (b *bulk) participate(ctx context.Context, runs []filesRun, steps []step) []step {
	wait, ok := b.s.opt.Setting("files.participants.timeout", *runs[0].Target).(float64)
	if !ok {
		wait = 60_000 // the default of VS Code
	}
	if wait <= 0 {
		return steps
	}
	b.s.mu.Lock()
	var hosts []*workbench.Host
	for _, name := range slices.Sorted(maps.Keys(b.s.views)) {
		hosts = append(hosts, b.s.views[name].host)
	}
	b.s.mu.Unlock()
	for _, h := range hosts {
		visible := visibleTo(h, runs)
		if len(visible) == 0 {
			continue
		}
		var answer *struct {
			Edit       struct{ Edits []change }
			Extensions []string `json:"extensionNames"`
		}
		limit := time.Duration(min(wait, 24*3600*1000)) * time.Millisecond
		bounded, cancel := context.WithTimeout(ctx, limit)
		err := h.Call(bounded, methodWillRun, workbench.Params(runs[0].operation, visible, limit.Milliseconds(), json.RawMessage(`{"$token":true}`)), &answer)
		cancel()
		if err == nil && answer != nil && len(answer.Edit.Edits) > 0 {
			steps, err = b.planOf(ctx, h, answer.Edit.Edits, steps)
		}
		if err != nil {
			b.s.opt.Warn("extensions have not taken part in a file operation", "host", h.Name(), "file", runs[0].Target.String(), "error", err)
		}
	}
	return steps
}

// planOf plans edits of another host than the caller, with the files that this host may use. If one of
// them is not possible, the steps stay as they were.
func (b *bulk) planOf(ctx context.Context, h *workbench.Host, edits []change, steps []step) ([]step, error) {
	if b.depth == maxDepth {
		return steps, refuse("extensions answer file operations with file operations, %d times in a row", maxDepth)
	}
	caller, fs, docs, moves, news := b.caller, b.files, map[string]*planned{}, b.moves, b.news
	for key, p := range b.docs {
		before := *p
		docs[key] = &before
	}
	b.caller = &workbench.Call{Host: h.Ref(), Life: h.Life(), Method: methodWillRun, Guard: h.Guard()}
	b.files = files(b.caller)
	b.depth++
	more, err := b.plan(ctx, edits, slices.Clip(steps))
	b.depth--
	b.caller, b.files = caller, fs
	if err != nil {
		b.docs, b.moves, b.news = docs, moves, news
		return steps, err
	}
	return more, nil
}

// visibleTo returns the operations whose files a host may read.
func visibleTo(h *workbench.Host, runs []filesRun) []filesRun {
	guard := h.Guard()
	if guard == nil {
		return runs
	}
	return slices.DeleteFunc(slices.Clone(runs), func(run filesRun) bool {
		for _, uri := range []*workbench.URI{run.Source, run.Target} {
			if uri == nil {
				continue
			}
			if path, ok := uri.FilePath(); !ok || workbench.Allowed(guard, path, workbench.Read) != nil {
				return true
			}
		}
		return false
	})
}

// filesRun tells all hosts about operations, batch by batch. The caller must hold mu.
func (s *Service) filesRun(runs []filesRun) {
	for len(runs) > 0 {
		n := 1
		for n < len(runs) && runs[n].batch == runs[0].batch {
			n++
		}
		for _, v := range s.views {
			if visible := visibleTo(v.host, runs[:n]); len(visible) > 0 {
				v.host.Tell(methodFilesRun, workbench.Params(runs[0].operation, visible))
			}
		}
		runs = runs[n:]
	}
}
