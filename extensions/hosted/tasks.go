package hosted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime"

	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/diagnostics"
	"github.com/hostsup/hostsup/workbench/disk"
	"github.com/hostsup/hostsup/workbench/documents"
	"github.com/hostsup/hostsup/workbench/folders"
	"github.com/hostsup/hostsup/workbench/output"
	"github.com/hostsup/hostsup/workbench/questions"
	"github.com/hostsup/hostsup/workbench/settings"
	"github.com/hostsup/hostsup/workbench/tasks"
	"github.com/hostsup/hostsup/workbench/terminals"
)

// tasksOf are the services that tasks need.
type tasksOf struct {
	config    *settings.Service
	work      *folders.Service
	user      *questions.Service
	documents *documents.Service
	channels  *output.Channels
	problems  *diagnostics.Service
}

// terminalsOf returns the terminals and tasks of a host and those beside it.
func (s *services) terminalsOf(h *supervisor.Host, of tasksOf) *terminals.Service {
	return terminals.New(terminals.Options{
		Folder: of.work.First, Folders: of.work.Folders,
		Activate: func(ctx context.Context, event string) error { return s.activateFor(ctx, h, event) },
		Files:    func(g workbench.Guard) ([]*tasks.File, []string) { return taskFiles(of.work.Workspace(), g) },
		Config: func(name, folder string) any {
			uri := workbench.File(folder)
			return of.config.Get(name, &uri, "")
		},
		Ask: func(ctx context.Context, host string, in tasks.Input) (string, bool) {
			return askInput(ctx, of.user, host, in)
		},
		Execute: func(ctx context.Context, id string, args json.RawMessage) (any, error) {
			return executed(ctx, h, id, args)
		},
		Active:   func() (a terminals.Active, ok bool) { return active(of.documents) },
		Problems: of.problems,
		IsOpen:   of.documents.IsOpen,
		Exists: func(g workbench.Guard, path string) bool {
			_, err := disk.FS{Guard: g}.Stat(path)
			return err == nil
		},
		Log: func(line string) {
			s.tree.Log.Warn("tasks", "host", h.Name(), "reason", line)
			of.channels.Write("Tasks", line)
		},
	})
}

// taskFiles reads the tasks.json of the folders of a workspace, as far as a host may. A workspace that is not
// trusted has no tasks, as in VS Code. left says why a file is not used.
func taskFiles(w *vscode.Present, g workbench.Guard) (out []*tasks.File, left []string) {
	if w == nil || w.Untrusted {
		return nil, nil
	}
	for _, folder := range w.Folders {
		text, err := disk.FS{Guard: g}.ReadFile(tasks.Path(folder), tasks.MaxFile)
		if err == nil {
			var f *tasks.File
			if f, err = tasks.Parse(folder, text, runtime.GOOS); err == nil {
				out = append(out, f)
				continue
			}
		}
		if !errors.Is(err, fs.ErrNotExist) && !disk.Named(err, disk.NameNotFound) {
			left = append(left, err.Error())
		}
	}
	return out, left
}

// active returns the file of the active editor.
func active(docs *documents.Service) (a terminals.Active, ok bool) {
	e, ok := docs.Active()
	if !ok {
		return a, false
	}
	if a.Path, ok = e.URI.FilePath(); !ok {
		return a, false
	}
	a.Line, a.Column, a.Selected = e.Selection.ActiveLine, e.Selection.ActiveColumn, e.Selected
	return a, true
}

// executed executes a command for a variable of a task.
func executed(ctx context.Context, h *supervisor.Host, id string, args json.RawMessage) (out any, err error) {
	list := []json.RawMessage{}
	if len(args) > 0 && json.Unmarshal(args, &list) != nil {
		list = []json.RawMessage{args} // one argument
	}
	all := []any{id}
	for _, arg := range list {
		all = append(all, arg)
	}
	var raw json.RawMessage
	if err := h.Call(ctx, methodCommand, workbench.Params(all...), &raw); err != nil {
		return nil, err
	}
	if err := workbench.Decode(raw, &out); err != nil {
		return nil, fmt.Errorf("the result of the command %s: %w", id, err)
	}
	return out, nil
}

// askInput asks for the input of a task: an item is asked for by its label.
func askInput(ctx context.Context, user *questions.Service, host string, in tasks.Input) (string, bool) {
	p := questions.Prompt{Host: host, For: fmt.Sprintf("the input %q of a task", in.ID), Text: in.Description, Password: in.Password}
	if p.Text == "" {
		p.Text = in.ID
	}
	values := map[string]string{}
	if in.Type == "pickString" {
		p.Items = []string{}
		for _, c := range in.Options {
			p.Items = append(p.Items, c.Label)
			values[c.Label] = c.Value
		}
	}
	answer, ok := user.Ask(ctx, p)
	if p.Items != nil {
		answer = values[answer]
	}
	return answer, ok
}
