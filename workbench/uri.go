package workbench

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

// URI is a URI as VS Code writes it (UriComponents). Path begins with a slash if there is an
// authority, and has slashes on every system.
type URI struct {
	Scheme    string `json:"scheme"`
	Authority string `json:"authority,omitempty"`
	Path      string `json:"path,omitempty"`
	Query     string `json:"query,omitempty"`
	Fragment  string `json:"fragment,omitempty"`
}

// File returns the URI of a path, which must be absolute.
func File(path string) URI {
	path = filepath.ToSlash(path)
	var authority string
	if rest, unc := strings.CutPrefix(path, "//"); unc {
		var found bool
		if authority, path, found = strings.Cut(rest, "/"); found {
			path = "/" + path
		}
	}
	if !strings.HasPrefix(path, "/") { // a drive
		path = "/" + path
	}
	return URI{Scheme: "file", Authority: authority, Path: path}
}

// LogScheme is the scheme of the folder for logs of hosts. Its files are those of this machine with
// the same path; see [URI.FilePath]. What a host writes into an output channel or a log of this
// scheme it sends to its editor, where it writes those of other schemes into files by a native
// module that its build may not have.
const LogScheme = "vscode-log"

// ParseURI returns the URI that a text is. A text without a scheme is an error.
func ParseURI(s string) (URI, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" {
		return URI{}, Invalid("%.200q is not a URI", s)
	}
	out := URI{Scheme: u.Scheme, Authority: u.Host, Path: u.Path, Query: u.RawQuery, Fragment: u.Fragment}
	if u.Opaque != "" {
		if out.Path, err = url.PathUnescape(u.Opaque); err != nil {
			return URI{}, Invalid("%.200q is not a URI", s)
		}
	}
	return out, nil
}

// FilePath returns the path of a file: URI, or of one with [LogScheme], on this system; false for
// others.
func (u URI) FilePath() (path string, ok bool) {
	if u.Scheme != "file" && u.Scheme != LogScheme || u.Path == "" || strings.ContainsRune(u.Path, 0) {
		return "", false
	}
	path = u.Path
	if u.Authority != "" {
		path = "//" + u.Authority + path
	} else if runtime.GOOS == "windows" && len(path) > 2 && path[2] == ':' {
		path = path[1:]
	}
	path = filepath.Clean(filepath.FromSlash(path))
	return path, filepath.IsAbs(path)
}

// String returns the URI as text. It is equal for equal URIs, so that it can be a key.
func (u URI) String() string {
	var b strings.Builder
	b.WriteString(u.Scheme + ":")
	if u.Authority != "" || u.Scheme == "file" {
		b.WriteString("//" + u.Authority)
	}
	b.WriteString((&url.URL{Path: u.Path}).EscapedPath())
	if u.Query != "" {
		b.WriteString("?" + u.Query)
	}
	if u.Fragment != "" {
		b.WriteString("#" + u.Fragment)
	}
	return b.String()
}

// MarshalJSON implements [json.Marshaler]: the host tells URIs by $mid.
func (u URI) MarshalJSON() ([]byte, error) {
	type plain URI
	return json.Marshal(struct {
		Mid int `json:"$mid"`
		plain
	}{1, plain(u)})
}
