package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// Manifest is one package.json.
type Manifest struct {
	extensions.Extension

	File      string
	Publisher string // "undefined_publisher" without one
	Shortname string // the field name
	Engine    string // engines.vscode
	Type      string // "module", "commonjs" or ""
	Platform  string // the platform of the build; "undefined" without one

	Contributes  json.RawMessage // nil without contributions
	Capabilities json.RawMessage

	fields   []field
	meta     []byte // __metadata, which an installer writes
	replaces bool   // it replaces a builtin extension and has its rights
}

type field struct {
	name  string
	value []byte
}

// noPublisher is VS Code's name for a missing publisher.
const noPublisher = "undefined_publisher"

// Source is the origin of a manifest.
type Source struct {
	File    string // path of package.json, for messages
	Folder  string // absolute path of the extension
	Origin  extensions.Origin
	Product string // version of the editor; "": engines are not compared
}

// Parse parses a manifest. It replaces %placeholders% by messages (package.nls.json);
// nil messages leave them. It returns nil if the manifest cannot be used, which is
// when one of the problems is not a warning. The problems are *[Problem].
func Parse(data []byte, at Source, messages *Messages) (*Manifest, []error) {
	p := parser{at: at}
	data, ok := p.text(data, messages)
	if !ok {
		return nil, p.problems
	}
	m := &Manifest{File: at.File, Platform: "undefined"}
	m.Folder, m.Origin = at.Folder, at.Origin
	if !p.read(m, data) {
		return nil, p.problems
	}
	m.Events = events(m)
	m.Description = m.describe()
	return m, p.problems
}

type parser struct {
	at       Source
	problems []error
}

func (p *parser) fail(key, want, found string, cause error) bool {
	p.problems = append(p.problems, &Problem{File: p.at.File, Key: key, Want: want, Found: found, Cause: cause})
	return false
}

func (p *parser) warn(key, want, found string, cause error) {
	p.problems = append(p.problems, &Problem{File: p.at.File, Key: key, Want: want, Found: found, Cause: cause, Warning: true})
}

// text checks the JSON and inserts the messages.
func (p *parser) text(data []byte, messages *Messages) ([]byte, bool) {
	data = clean(data)
	var strs []extent
	note := func(start, end int) {
		if end-start > 4 && data[start+1] == '%' && data[end-2] == '%' {
			strs = append(strs, extent{start, end})
		}
	}
	if messages == nil {
		note = nil
	}
	if err := jsonwalk.Check(data, note); err != nil {
		return nil, p.fail("", "", "", fmt.Errorf("%w: %w", ErrJSON, err))
	}
	if kind := jsonwalk.KindOf(data); kind != jsonwalk.Map {
		return nil, p.fail("", "an object", kind.String(), ErrJSON)
	}
	if len(strs) > 0 {
		var missing []string
		data, missing = messages.fill(data, strs)
		for _, key := range missing {
			p.warn("%"+key+"%", "a message in package.nls.json", "", ErrMessage)
		}
	}
	return data, true
}

// clean removes a byte order mark and replaces invalid UTF-8.
func clean(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	return data
}

// read reads the used fields of a checked text, in the order in which VS Code checks
// them.
func (p *parser) read(m *Manifest, data []byte) bool {
	m.fields = fields(data)
	m.meta = m.get("__metadata")
	var ok bool
	if m.Publisher, ok = p.optional(m, "publisher"); !ok {
		return false
	}
	if m.Shortname, ok = p.required(m, "name"); !ok {
		return false
	}
	if m.Version, ok = p.required(m, "version"); !ok {
		return false
	}
	engines := m.get("engines")
	if kind := jsonwalk.KindOf(engines); kind != jsonwalk.Map {
		return p.fail("engines", "an object", kind.String(), ErrField)
	}
	engine := jsonwalk.Member(engines, "vscode")
	if kind := jsonwalk.KindOf(engine); kind != jsonwalk.String {
		return p.fail("engines.vscode", "a string", kind.String(), ErrField)
	}
	m.Engine = jsonwalk.Text(engine)
	if m.Publisher == "" {
		m.Publisher = noPublisher
	}
	m.Value = m.Publisher + "." + m.Shortname
	m.ID = extensions.MakeID(m.Value)
	if !m.ID.Valid() {
		return p.fail("name", "a name", "an empty string", ErrField)
	}
	needs, ok := p.strings(m, "extensionDependencies", true)
	if !ok {
		return false
	}
	m.Dependencies = ids(needs)
	if m.Main, ok = p.optional(m, "main"); !ok {
		return false
	}
	if m.Browser, ok = p.optional(m, "browser"); !ok {
		return false
	}
	if own := m.get("activationEvents"); own != nil {
		if m.Extension.Events, ok = p.strings(m, "activationEvents", true); !ok {
			return false
		}
		if !m.HasCode() {
			return p.fail("activationEvents", "nothing without a main or browser", "", ErrField)
		}
	}
	p.inside("main", m.Main)
	p.inside("browser", m.Browser)
	if !validVersion(m.Version) {
		return p.fail("version", "a version like 1.2.3", fmt.Sprintf("%q", m.Version), ErrField)
	}
	if m.Origin != extensions.Builtin && m.HasCode() && !p.engine(m.Engine) {
		return false
	}
	p.rest(m)
	return true
}

// rest reads the fields in which a mistake is only a warning.
func (p *parser) rest(m *Manifest) {
	pack, _ := p.strings(m, "extensionPack", false)
	m.Pack = ids(pack)
	m.Type, _ = p.soft(m, "type")
	m.Kinds = p.kinds(m)
	for _, f := range []struct {
		key  string
		into *json.RawMessage
	}{{"contributes", &m.Contributes}, {"capabilities", &m.Capabilities}} {
		if v := m.get(f.key); v != nil {
			if kind := jsonwalk.KindOf(v); kind != jsonwalk.Map {
				p.warn(f.key, "an object", kind.String(), ErrField)
				continue
			}
			*f.into = v
		}
	}
	for _, f := range m.fields {
		if reserved[f.name] {
			p.warn(f.name, "nothing: the editor sets it", "", ErrField)
		}
	}
	if platform := jsonwalk.Text(jsonwalk.Member(m.meta, "targetPlatform")); platform != "" {
		m.Platform = platform
	}
}

// kinds reads extensionKind, or derives it as VS Code does.
func (p *parser) kinds(m *Manifest) []extensions.Kind {
	var out []extensions.Kind
	raw := m.get("extensionKind")
	add := func(text string) {
		switch k := extensions.Kind(text); k {
		case extensions.KindUI, extensions.KindWorkspace, extensions.KindWeb:
			out = append(out, k)
		default:
			p.warn("extensionKind", `"ui" or "workspace"`, fmt.Sprintf("%q", text), ErrField)
		}
	}
	switch kind := jsonwalk.KindOf(raw); kind {
	case jsonwalk.None:
	case jsonwalk.String:
		add(jsonwalk.Text(raw))
	case jsonwalk.List:
		list, _ := p.strings(m, "extensionKind", false)
		for _, text := range list {
			add(text)
		}
	default:
		p.warn("extensionKind", "an array of strings", kind.String(), ErrField)
	}
	if raw != nil && m.Main == "" {
		p.warn("extensionKind", "a main beside it", "", ErrField)
	}
	switch {
	case len(out) > 0:
		return out
	case m.Main != "":
		return []extensions.Kind{extensions.KindWorkspace}
	case m.Browser != "":
		return []extensions.Kind{extensions.KindWeb}
	}
	return []extensions.Kind{extensions.KindUI, extensions.KindWorkspace, extensions.KindWeb}
}

// inside warns of an entry outside of the extension's folder.
func (p *parser) inside(key, entry string) {
	if entry == "" {
		return
	}
	clean := path.Join("/x", strings.ReplaceAll(entry, `\`, "/"))
	if clean != "/x" && !strings.HasPrefix(clean, "/x/") {
		p.warn(key, "a path inside of the extension's folder", fmt.Sprintf("%q", entry), ErrField)
	}
}

func (m *Manifest) get(name string) []byte {
	for _, f := range m.fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// fields returns the members of the manifest; of two with the same name the last
// counts, in the position of the first, as in JavaScript.
func fields(data []byte) []field {
	out := make([]field, 0, 32)
	jsonwalk.Object(data, func(name string, value []byte) bool {
		for i := range out {
			if out[i].name == name {
				out[i].value = value
				return true
			}
		}
		out = append(out, field{name, value})
		return true
	})
	return out
}

func (p *parser) required(m *Manifest, key string) (string, bool) {
	v := m.get(key)
	if kind := jsonwalk.KindOf(v); kind != jsonwalk.String {
		return "", p.fail(key, "a string", kind.String(), ErrField)
	}
	return jsonwalk.Text(v), true
}

func (p *parser) optional(m *Manifest, key string) (string, bool) {
	if m.get(key) == nil {
		return "", true
	}
	return p.required(m, key)
}

func (p *parser) soft(m *Manifest, key string) (string, bool) {
	v := m.get(key)
	if kind := jsonwalk.KindOf(v); v != nil && kind != jsonwalk.String {
		p.warn(key, "a string", kind.String(), ErrField)
		return "", false
	}
	return jsonwalk.Text(v), true
}

// strings reads a list of strings. A mistake makes the manifest unusable; if fatal is
// false, it is a warning, and values that are not strings are dropped.
func (p *parser) strings(m *Manifest, key string, fatal bool) ([]string, bool) {
	v := m.get(key)
	if v == nil {
		return nil, true
	}
	say := func(key, want, found string) bool {
		if fatal {
			return p.fail(key, want, found, ErrField)
		}
		p.warn(key, want, found, ErrField)
		return true
	}
	if kind := jsonwalk.KindOf(v); kind != jsonwalk.List {
		return nil, say(key, "an array of strings", kind.String())
	}
	var out []string
	ok := true
	n := 0
	jsonwalk.Array(v, func(e []byte) bool {
		if kind := jsonwalk.KindOf(e); kind != jsonwalk.String {
			ok = say(fmt.Sprintf("%s[%d]", key, n), "a string", kind.String())
		} else {
			out = append(out, jsonwalk.Text(e))
		}
		n++
		return ok
	})
	return out, ok
}

func ids(list []string) []extensions.ID {
	var out []extensions.ID
	for _, s := range list {
		out = append(out, extensions.MakeID(s))
	}
	return out
}
