package settings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/jsonedit"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
	"github.com/hostsup/hostsup/workbench/settings/model"
)

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	return map[string]workbench.Method{
		"MainThreadConfiguration.$updateConfigurationOption": {Do: func(_ context.Context, c *workbench.Call) (any, error) {
			u := update{value: c.Raw(2)}
			if err := c.Args(&u.target, &u.name, nil, &u.over, &u.language); err != nil {
				return nil, err
			}
			if u.value == nil {
				return nil, workbench.Invalid("%s: a value expected", c.Method)
			}
			return nil, s.update(c, u)
		}},
		"MainThreadConfiguration.$removeConfigurationOption": {Do: func(_ context.Context, c *workbench.Call) (any, error) {
			var u update
			if err := c.Args(&u.target, &u.name, &u.over, &u.language); err != nil {
				return nil, err
			}
			return nil, s.update(c, u)
		}},
	}
}

// target is where a setting is to be written, by VS Code's numbers.
type target int

const (
	toUser       target = 2
	toUserRemote target = 4
	toWorkspace  target = 5
	toFolder     target = 6
)

// String returns the name that VS Code has for it.
func (t target) String() string {
	switch t {
	case toWorkspace:
		return "Workspace Settings"
	case toFolder:
		return "Folder Settings"
	}
	return "User Settings"
}

// update is a change of a setting.
type update struct {
	target *target // nil: as VS Code decides
	name   string
	value  json.RawMessage // nil: it is removed
	over   struct {
		Resource           *workbench.URI
		OverrideIdentifier string
	}
	language *bool // whether it is for the language; nil: if there is a value for it
}

// refuse returns an error with the message that VS Code has for it.
func refuse(format string, args ...any) error {
	return &codec.Error{Name: "Error", Message: fmt.Sprintf(format, args...)}
}

// update carries out a change for a host.
func (s *Service) update(c *workbench.Call, u update) error {
	s.disk.Lock()
	s.mu.Lock()
	f, to, path, err := s.place(c.Host.Name(), &u)
	s.mu.Unlock()
	var listeners []func()
	if err == nil && f.folder != "" {
		err = workbench.Allowed(c.Guard, f.path, workbench.Write)
	}
	if err == nil {
		listeners, err = s.change(f, to, path, u.value, c.Guard)
	}
	s.disk.Unlock()
	for _, tell := range listeners {
		tell()
	}
	if disk.Named(err, workbench.NameNoPermissions) {
		return workbench.Refused("WorkspaceConfiguration.update", err)
	}
	return err
}

// place decides where a change is written: the file, and the path in it. The caller must hold mu.
func (s *Service) place(host string, u *update) (f *file, to target, path []string, err error) {
	known := s.known[host]
	scope, registered := scopeOf(known, u.name)
	switch {
	case u.target != nil && (*u.target == toWorkspace || *u.target == toFolder):
		to = *u.target
	case u.target != nil:
		to = toUser // there is no remote machine
	case u.over.Resource != nil && len(s.folders) > 1 && (scope == model.Resource || scope == model.LanguageOverridable):
		to = toFolder
	default:
		to = toWorkspace
	}
	f = s.user
	switch to {
	case toWorkspace:
		if f = s.workspace; f == nil && len(s.folders) == 1 {
			f = s.folders[0]
		}
	case toFolder:
		f = s.folderOf(u.over.Resource)
	}
	language := s.forLanguage(host, f, u)
	if err := s.check(u, to, f, scope, registered, language != ""); err != nil {
		return nil, to, nil, err
	}
	if language != "" {
		return f, to, []string{"[" + language + "]", u.name}, nil
	}
	return f, to, []string{u.name}, nil
}

// forLanguage returns the language that a change is for, or "". The caller must hold mu.
func (s *Service) forLanguage(host string, f *file, u *update) string {
	id := u.over.OverrideIdentifier
	switch {
	case id == "" || u.language != nil && !*u.language:
		return ""
	case u.language != nil:
		return id
	}
	if f != nil {
		if own, _ := f.settings["["+id+"]"].(map[string]any); own != nil {
			if _, has := own[u.name]; has {
				return id
			}
		}
	}
	return ""
}

// check returns why a setting cannot be written there, in VS Code's words and order.
func (s *Service) check(u *update, to target, f *file, scope model.Scope, registered, language bool) error {
	override := strings.HasPrefix(u.name, "[")
	switch {
	case to == toUser && s.isFixed(u, language):
		return refuse("Unable to write %s because it is configured in system policy.", u.name)
	case !registered && !override && u.value != nil:
		return refuse("Unable to write to %s because %s is not a registered configuration.", to, u.name)
	case to != toUser && len(s.folders) == 0:
		return refuse("Unable to write to %s because no workspace is opened. Please open a workspace first and try again.", to)
	case to == toWorkspace && !override && registered && !scope.InWorkspace():
		return refuse("Unable to write %s to Workspace Settings. This setting can be written only into User settings.", u.name)
	case to == toFolder && f == nil:
		return refuse("Unable to write to Folder Settings because no resource is provided.")
	case to == toFolder && !override && registered && !scope.InFolder():
		return refuse("Unable to write to Folder Settings because %s does not support the folder resource scope.", u.name)
	case language && scope != model.LanguageOverridable:
		return refuse("Unable to write to Language Settings because %s is not a resource language setting.", u.name)
	}
	return nil
}

// isFixed reports whether the configuration of the supervisor decides a user's setting.
func (s *Service) isFixed(u *update, language bool) bool {
	if language {
		own, _ := s.fixed["["+u.over.OverrideIdentifier+"]"].(map[string]any)
		_, ok := own[u.name]
		return ok
	}
	_, ok := s.fixed[u.name]
	return ok
}

// change writes a change to a file and tells hosts. guard is that of the host that wants it. The caller
// must hold disk.
func (s *Service) change(f *file, to target, path []string, value json.RawMessage, guard workbench.Guard) ([]func(), error) {
	s.mu.Lock()
	guards := s.guards()
	s.mu.Unlock()
	if guard != nil {
		guards = append(guards, guard)
	}
	text, mode, err := f.read(guards)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text, mode = []byte("{\n}\n"), 0o644
		if to == toUser {
			mode = 0o600
		}
		if value == nil {
			return nil, nil
		}
	case err != nil:
		return nil, err
	}
	settings, err := model.Parse(f.path, text) // first: it bounds the depth
	if err != nil {
		return nil, broken(to, err.Error())
	}
	if len(settings) == 0 && len(strings.TrimSpace(string(text))) == 0 {
		text = []byte("{\n}\n")
	}
	var changed []byte
	if value == nil {
		changed, err = jsonedit.Remove(text, path)
	} else {
		changed, err = jsonedit.Set(text, path, value)
	}
	if err != nil {
		return nil, broken(to, f.path+": "+err.Error())
	}
	if settings, err = model.Parse(f.path, changed); err != nil {
		return nil, err
	}
	if string(changed) != string(text) {
		if err := f.writeFor(guard, changed, mode); err != nil {
			return nil, fmt.Errorf("unable to write to %s: %w", to, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f.settings, f.broken = settings, ""
	return s.broadcast(), nil
}

// broken returns the error for a file that has mistakes.
func broken(to target, why string) error {
	name := map[target]string{toUser: "user", toWorkspace: "workspace", toFolder: "folder"}[to]
	return refuse("Unable to write into %s settings. Please open the %[1]s settings to correct errors/warnings in it and try again. (%s)", name, why)
}
