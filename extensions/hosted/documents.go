package hosted

import (
	"context"
	"strconv"
	"sync"

	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/documents"
	"github.com/hostsup/hostsup/workbench/settings"
	"github.com/hostsup/hostsup/workbench/watch"
	"github.com/hostsup/hostsup/workbench/window"
)

// documentsOf returns the documents of a household, and what notices changes of their files.
func (s *services) documentsOf(h *supervisor.Host, p *vscode.Protocol, langs documents.Languages, config *settings.Service, clip *window.Service, all *fileSystems) (*documents.Service, *reloads) {
	r := &reloads{changed: map[string]func(){}}
	opt := documents.Options{Languages: langs, Watcher: r, Opened: func(ctx context.Context, language string) {
		// Extensions that fail to become active are reported by their service.
		_ = s.Activate(ctx, p.Household(h.Name()), "onLanguage:"+language)
	}, Setting: func(name string, resource workbench.URI) any { return config.Get(name, &resource, "") }}
	opt.Clipboard, opt.Indentation = clip.Clipboard, indentation(config)
	problem := func(text string) { s.tree.Log.Warn(text, "host", nameOf(h)) }
	if s.tree.Log != nil {
		opt.Warn = s.tree.Log.Warn
	}
	r.files = watch.NewWatcher(watch.Options{Send: r.send, Problem: problem})
	opt.Files = all
	docs := documents.New(opt)
	all.documents.Store(docs)
	return docs, r
}

// indentation returns a function that reads the settings of editors for the indentation of documents.
func indentation(config *settings.Service) func(workbench.URI, string) documents.Indentation {
	return func(uri workbench.URI, language string) (in documents.Indentation) {
		size, _ := config.Get("editor.tabSize", &uri, language).(float64)
		in.TabSize = int(min(max(size, 0), 100))
		in.Tabs = config.Get("editor.insertSpaces", &uri, language) == false
		in.Keep = config.Get("editor.detectIndentation", &uri, language) == false
		return in
	}
}

// reloads watches the files of documents. It is a service without methods, so that it ends with
// the workbench.
type reloads struct {
	files *watch.Watcher

	mu      sync.Mutex
	last    int
	changed map[string]func()
}

// Methods implements [workbench.Service].
func (*reloads) Methods() map[string]workbench.Method { return nil }

// Close implements [workbench.Closer].
func (r *reloads) Close() error { return r.files.Close() }

// Watch implements [documents.Watcher].
func (r *reloads) Watch(path string, changed func()) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	id := strconv.Itoa(r.last)
	r.changed[id] = changed
	r.files.Watch(id, watch.Request{For: id, Path: path})
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.changed, id)
		r.files.Unwatch(id)
	}
}

func (r *reloads) send(id string, _ []watch.Change) {
	r.mu.Lock()
	changed := r.changed[id]
	r.mu.Unlock()
	if changed != nil {
		changed()
	}
}
