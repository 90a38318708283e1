package search

import (
	"maps"
	"slices"
)

// Exclude is an entry of files.exclude or search.exclude that is on.
type Exclude struct {
	Pattern string // a glob, relative to the folder
	// When, if not "", is the name of a file beside: only what has that file beside it is excluded.
	// $(basename) in it is the name without its extension.
	When string
}

// Settings are the settings that searches depend on. Methods are called for each search.
type Settings interface {
	// FilesExclude returns files.exclude for a folder, an absolute path.
	FilesExclude(folder string) []Exclude
	// SearchExclude returns search.exclude for a folder.
	SearchExclude(folder string) []Exclude
	// IgnoreFiles returns search.useIgnoreFiles, .useParentIgnoreFiles and .useGlobalIgnoreFiles.
	IgnoreFiles(folder string) (local, parent, global bool)
	// FollowSymlinks returns search.followSymlinks.
	FollowSymlinks(folder string) bool
}

// Defaults are the settings of VS Code without changes.
type Defaults struct{}

// FilesExclude implements [Settings].
func (Defaults) FilesExclude(string) []Exclude {
	return []Exclude{{Pattern: "**/.git"}, {Pattern: "**/.svn"}, {Pattern: "**/.hg"}, {Pattern: "**/.DS_Store"}, {Pattern: "**/Thumbs.db"}}
}

// SearchExclude implements [Settings].
func (Defaults) SearchExclude(string) []Exclude {
	return []Exclude{{Pattern: "**/node_modules"}, {Pattern: "**/bower_components"}, {Pattern: "**/*.code-search"}}
}

// IgnoreFiles implements [Settings].
func (Defaults) IgnoreFiles(string) (local, parent, global bool) { return true, false, false }

// FollowSymlinks implements [Settings].
func (Defaults) FollowSymlinks(string) bool { return true }

// Excludes returns the entries of a setting files.exclude or search.exclude over its defaults: true
// adds a pattern, false removes one, and {"when": NAME} adds one with [Exclude.When].
func Excludes(defaults []Exclude, setting any) []Exclude {
	out := slices.Clone(defaults)
	all, _ := setting.(map[string]any)
	for _, pattern := range slices.Sorted(maps.Keys(all)) {
		e := Exclude{Pattern: pattern}
		on, _ := all[pattern].(bool)
		if more, ok := all[pattern].(map[string]any); ok {
			e.When, on = more["when"].(string)
		}
		out = slices.DeleteFunc(out, func(d Exclude) bool { return d.Pattern == pattern })
		if on {
			out = append(out, e)
		}
	}
	return out
}
