package blame

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/extensions"
)

// Index finds the extension of a file by its folder. It is safe for concurrent use.
type Index struct {
	folders map[string]extensions.ID
	longest int // the longest path, in bytes
}

// NewIndex returns the index of extensions that have a folder.
func NewIndex(list []extensions.Extension) Index {
	x := Index{folders: make(map[string]extensions.ID, len(list))}
	for _, e := range list {
		if e.Folder != "" {
			folder := strings.TrimRight(slashes(e.Folder), "/")
			x.folders[folder] = e.ID
			x.longest = max(x.longest, len(folder))
		}
	}
	return x
}

// File returns the extension of a path or file:// address; of nested folders the
// innermost counts.
func (x Index) File(name string) (extensions.ID, bool) {
	if rest, ok := strings.CutPrefix(name, "file://"); ok {
		if plain, err := url.PathUnescape(rest); err == nil {
			rest = plain
		}
		name = rest
		if len(name) > 2 && name[0] == '/' && name[2] == ':' { // file:///c:/…
			name = name[1:]
		}
	}
	name = slashes(name)
	if len(name) > x.longest { // no extension folder is longer
		name = name[:strings.LastIndexByte(name[:x.longest+1], '/')+1]
	}
	for i := len(name); i > 0; i = strings.LastIndexByte(name[:i], '/') {
		if id, ok := x.folders[name[:i]]; ok {
			return id, true
		}
	}
	return "", false
}

// Stack returns the extension of a JavaScript stack: that of the first frame with a file of
// an extension.
func (x Index) Stack(stack string) (extensions.ID, bool) {
	id, _, ok := x.Thrown(stack)
	return id, ok
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// slashes normalizes paths of all systems.
func slashes(path string) string {
	if strings.Contains(path, `\`) || filepath.Separator != '/' {
		path = strings.ReplaceAll(path, `\`, "/")
	}
	if len(path) > 1 && path[1] == ':' {
		path = strings.ToLower(path[:1]) + path[1:]
	}
	return path
}

// profile has the used parts of a V8 .cpuprofile.
type profile struct {
	Nodes []struct {
		ID        int `json:"id"`
		CallFrame struct {
			URL string `json:"url"`
			Fn  string `json:"functionName"`
		} `json:"callFrame"`
		Children []int `json:"children"`
	} `json:"nodes"`
	Samples    []int   `json:"samples"`
	TimeDeltas []int64 `json:"timeDeltas"` // µs
}

// Shares parses a V8 CPU profile (JSON) and returns each extension's share of its
// whole time, the largest first. Of the extensions with a frame on the stack the
// outermost counts: it called the others. Idle time counts for the whole only.
func (x Index) Shares(data []byte) ([]Share, error) {
	var p profile
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("cpu profile: %w", err)
	}
	parent, own, outermost := map[int]int{}, map[int]extensions.ID{}, map[int]extensions.ID{} // "": no extension's
	for _, n := range p.Nodes {
		for _, child := range n.Children {
			parent[child] = n.ID
		}
		if id, ok := x.File(n.CallFrame.URL); ok {
			own[n.ID] = id
		}
	}
	var total int64
	spent := map[extensions.ID]float64{}
	for i, sample := range p.Samples {
		took := int64(1)
		if len(p.TimeDeltas) == len(p.Samples) {
			took = max(p.TimeDeltas[i], 0)
		}
		total += took
		if id := owner(sample, parent, own, outermost); id != "" {
			spent[id] += float64(took)
		}
	}
	return sortedShares(spent, float64(total)), nil
}

// sortedShares returns the shares of parts of a total, the largest first.
func sortedShares(parts map[extensions.ID]float64, total float64) []Share {
	var out []Share
	for id, part := range parts {
		if total > 0 && part > 0 {
			out = append(out, Share{id, part / total})
		}
	}
	slices.SortFunc(out, func(a, b Share) int {
		switch {
		case a.Share > b.Share:
			return -1
		case a.Share < b.Share:
			return 1
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return out
}

// owner returns the extension of the outermost frame of a node's stack that has one. It
// caches results in outermost, so that it visits each node once, even if nodes form a
// circle.
func owner(node int, parent map[int]int, own, outermost map[int]extensions.ID) extensions.ID {
	var passed []int
	var id extensions.ID
	for at, ok := node, true; ok; at, ok = parent[at] {
		known, done := outermost[at]
		if done {
			id = known
			break
		}
		outermost[at] = "" // until it is known
		passed = append(passed, at)
	}
	for _, at := range slices.Backward(passed) {
		if id == "" {
			id = own[at]
		}
		outermost[at] = id
	}
	return id
}
