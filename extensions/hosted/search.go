package hosted

import (
	"encoding/json"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/accounts"
	"github.com/hostsup/hostsup/workbench/folders"
	"github.com/hostsup/hostsup/workbench/languages"
	"github.com/hostsup/hostsup/workbench/search"
	"github.com/hostsup/hostsup/workbench/settings"
	"github.com/hostsup/hostsup/workbench/terminals"
	"github.com/hostsup/hostsup/workbench/tools"
	"github.com/hostsup/hostsup/workbench/views"
)

// searchOf returns the searches for a host and those beside it.
func (s *services) searchOf(p *vscode.Protocol, config *settings.Service, work *folders.Service) *search.Service {
	opt := p.Options()
	return search.New(search.Options{
		Folders: work.Folders, Settings: searchSettings{config}, Ripgrep: search.FindRipgrep(opt.Root), Launcher: s.tree.Launcher,
	})
}

// searchSettings reads the settings of searches.
type searchSettings struct{ config *settings.Service }

func (s searchSettings) get(name, folder string) any {
	uri := workbench.File(folder)
	return s.config.Get(name, &uri, "")
}

// is returns a setting that is on or off.
func (s searchSettings) is(name, folder string, byDefault bool) bool {
	if on, ok := s.get(name, folder).(bool); ok {
		return on
	}
	return byDefault
}

// FilesExclude implements [search.Settings].
func (s searchSettings) FilesExclude(folder string) []search.Exclude {
	return search.Excludes(search.Defaults{}.FilesExclude(folder), s.get("files.exclude", folder))
}

// SearchExclude implements [search.Settings].
func (s searchSettings) SearchExclude(folder string) []search.Exclude {
	return search.Excludes(search.Defaults{}.SearchExclude(folder), s.get("search.exclude", folder))
}

// IgnoreFiles implements [search.Settings].
func (s searchSettings) IgnoreFiles(folder string) (local, parent, global bool) {
	local, parent, global = search.Defaults{}.IgnoreFiles(folder)
	return s.is("search.useIgnoreFiles", folder, local), s.is("search.useParentIgnoreFiles", folder, parent), s.is("search.useGlobalIgnoreFiles", folder, global)
}

// FollowSymlinks implements [search.Settings].
func (s searchSettings) FollowSymlinks(folder string) bool {
	return s.is("search.followSymlinks", folder, search.Defaults{}.FollowSymlinks(folder))
}

// associations returns a function that reads files.associations.
func associations(config *settings.Service) func(path string) map[string]string {
	return func(path string) map[string]string {
		uri := workbench.File(path)
		all, _ := config.Get("files.associations", &uri, "").(map[string]any)
		out := make(map[string]string, len(all))
		for pattern, language := range all {
			if language, ok := language.(string); ok {
				out[pattern] = language
			}
		}
		return out
	}
}

// described tells the languages, tools, providers of accounts and types of tasks of extensions beside their
// settings.
type described struct {
	*settings.Service
	languages *languages.Service
	tools     *tools.Service
	accounts  *accounts.Service
	work      *folders.Service
	terminals *terminals.Service
	views     *views.Service
}

// Opening implements [vscode.Editor].
func (d described) Opening(host string, life uint64, descriptions []json.RawMessage) (codec.Raw, error) {
	d.describe(descriptions)
	return d.Service.Opening(host, life, descriptions)
}

// Described implements [vscode.Editor].
func (d described) Described(host string, life uint64, descriptions []json.RawMessage, tell func(codec.Raw) error) error {
	d.describe(descriptions)
	return d.Service.Described(host, life, descriptions, tell)
}

func (d described) describe(descriptions []json.RawMessage) {
	d.languages.Describe(descriptions)
	d.tools.Describe(descriptions)
	d.accounts.Describe(descriptions)
	d.terminals.Describe(descriptions)
	d.views.Describe(descriptions)
}
