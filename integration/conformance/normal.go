//go:build linux

package conformance

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"
)

// long is the length from which on a text is compared by its hash.
const long = 4000

// huge is the length from which on nothing is looked for in a text: it is bulk,
// and looking would take most of the time.
const huge = 64 << 10

var (
	address = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	// Folders for each run of the real server.
	alias = regexp.MustCompile(`codex-arg0\w+`)
	state = regexp.MustCompile(`\$SIDE/state/\d+`)
)

// late is one of two texts of the real server for an answer that does not come
// in time. Which one it is, is a matter of chance.
const late = "http/request failed: route-aware request timed out"

// normal is a value without what differs at every run.
func (p *player) normal(v any) any {
	return normalizer{strings.NewReplacer(p.masks...)}.value("", v)
}

type normalizer struct{ masks *strings.Replacer }

func (n normalizer) value(name string, v any) any {
	switch v := v.(type) {
	case nil, bool:
	case string:
		return n.text(name, v)
	case float64:
		// When a file was made is told by ours alone: the real server's build
		// cannot ask the kernel. Not every kernel knows, either.
		if name == "createdAtMs" {
			return "not compared"
		}
		// When a file was changed is known to be now, unless it was set.
		if name == "modifiedAtMs" && time.Since(time.UnixMilli(int64(v))).Abs() < 24*time.Hour {
			return "now"
		}
	case []any:
		for i := range v {
			v[i] = n.value("", v[i])
		}
		if name == "entries" && strings.Contains(compact(v), `"fileName"`) {
			// The real server reads a folder in no order; a walk has one.
			sort.Slice(v, func(i, j int) bool { return compact(v[i]) < compact(v[j]) })
		}
	case map[string]any:
		if v["name"] == "date" { // a header
			v["value"] = "now"
		}
		for k := range v {
			v[k] = n.value(k, v[k])
		}
		if c, ok := v["capabilities"].(map[string]any); ok {
			v["capabilities"] = abilities(c)
		}
	default: // what a verb has made, and JSON does not decode into
		b, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return n.value(name, decode(b))
	}
	return v
}

// abilities are a server's capabilities, those that it has and those that it
// has not.
func abilities(c map[string]any) any {
	has, lacks := []any{}, []any{}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		switch c[name] {
		case true:
			has = append(has, name)
		case false:
			lacks = append(lacks, name)
		default:
			return c
		}
	}
	return map[string]any{"has": has, "lacks": lacks}
}

func (n normalizer) text(name, s string) any {
	switch name {
	case "executorVersion", "providerId", "hostname": // of a build, of a machine
		return "$" + name
	case "chunk", "dataBase64", "bodyBase64":
		b, err := base64.StdEncoding.Strict().DecodeString(s)
		if err != nil {
			return "not base64: " + s
		}
		if utf8.Valid(b) {
			s = string(b)
		}
	}
	if len(s) > huge {
		return short(s)
	}
	s = state.ReplaceAllString(alias.ReplaceAllString(n.plain(s), "codex-arg0"), "$$SIDE/state")
	if s == late || s == "http/request failed: error sending request for url ($WEB/never)" {
		return "http/request failed: too late"
	}
	if len(s) > long {
		return short(s)
	}
	return s
}

func (n normalizer) plain(s string) string {
	return address.ReplaceAllString(n.masks.Replace(s), "$$ADDRESS")
}

// Plain returns a text without what differs at every run: the names of
// addresses on loopback, and what masks replace, which are pairs of a text and
// what stands for it.
func Plain(s string, masks ...string) string {
	return normalizer{strings.NewReplacer(masks...)}.plain(s)
}

func short(s string) string {
	return fmt.Sprintf("%s… (%d bytes, %x)", s[:40], len(s), sha256.Sum256([]byte(s)))
}

func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
