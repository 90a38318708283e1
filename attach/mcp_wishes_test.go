package attach

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

// The host is subscribed to what at least one client has subscribed to, whatever the
// clients do.
func TestWatched(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	clients := []*client{{}, {}, {}}
	var w wishes
	host := map[string]bool{}
	model := map[*client]map[string]bool{}
	for range 5000 {
		c := clients[rnd.IntN(len(clients))]
		uri := []string{"a", "b"}[rnd.IntN(2)]
		if model[c] == nil {
			model[c] = map[string]bool{}
		}
		switch rnd.IntN(5) {
		case 0, 1:
			w.watch(c, uri)
			host[uri], model[c][uri] = true, true
		case 2, 3:
			if w.unwatch(c, uri) {
				delete(host, uri)
			}
			delete(model[c], uri)
		default:
			for _, uri := range w.left(c) {
				delete(host, uri)
			}
			delete(model, c)
		}
		for _, uri := range []string{"a", "b"} {
			want := slices.ContainsFunc(clients, func(c *client) bool { return model[c][uri] })
			if host[uri] != want || want != (len(w.watched[uri]) > 0) {
				t.Fatalf("%s: the host is subscribed: %v, a client: %v", uri, host[uri], want)
			}
		}
	}
}

func TestLevels(t *testing.T) {
	var w wishes
	one, two, three := &client{}, &client{}, &client{}
	set := func(c *client, level, want string) {
		t.Helper()
		got := w.setLevel(c, level)
		if got != want {
			t.Errorf("%s: the host is asked for %q, want %q", level, got, want)
		}
		if got != "" {
			w.level = got
		}
	}
	set(one, "error", "error")
	set(two, "warning", "warning")
	set(one, "critical", "")
	set(two, "debug", "debug")
	for level, want := range map[string][3]bool{
		"debug": {false, true, true}, "error": {false, true, true}, "critical": {true, true, true},
		"emergency": {true, true, true}, "unheard-of": {true, true, true},
	} {
		if got := [3]bool{w.hears(one, level), w.hears(two, level), w.hears(three, level)}; got != want {
			t.Errorf("%s: %v, want %v", level, got, want)
		}
	}
	w.left(two)
	if low := w.lowest(); low != "critical" {
		t.Errorf("after the second has left: %q", low)
	}
	set(one, "", "")
	w.left(one)
	if w.lowest() != "" {
		t.Error("a level is left after its client")
	}
}

func TestOpeningOf(t *testing.T) {
	for params, want := range map[string]string{
		``: "", `[]`: "", `{}`: "", `{"_meta":{"progressToken":1}}`: "",
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}`: "",
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}`:            "",
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"a":{}},"io.modelcontextprotocol/clientInfo":{"name":"n"}}}`://
		`{"capabilities":{"a":{}},"clientInfo":{"name":"n"},"protocolVersion":"2026-07-28"}`,
	} {
		got, ok := openingOf(codec.Raw(params))
		if string(got) != want || ok != (want != "") {
			t.Errorf("%s: %s", params, got)
		}
	}
	if !sameJSON(codec.Raw(`{"a":1,"b":[ ]}`), codec.Raw(`{"b":[],"a":1}`)) || sameJSON(codec.Raw(`{"a":1}`), codec.Raw(`{"a":2}`)) || sameJSON(nil, codec.Raw(`{}`)) {
		t.Error("values are compared wrongly")
	}
}

// A server that has refused the generation without the handshake is not asked for it
// again.
func TestRecognize(t *testing.T) {
	const opening = `{"protocolVersion":"2026-07-28","capabilities":{}}`
	h := &Hub{opening: codec.Raw(opening), result: codec.Raw(`{"protocolVersion":"2025-11-25"}`)}
	h.recognize()
	if h.sessionless || h.lacks != withoutSession || versionOf(h.opening) != withSession {
		t.Errorf("a server with the handshake: %v, %v, %s", h.sessionless, h.lacks, h.opening)
	}
	h = &Hub{opening: codec.Raw(opening), result: codec.Raw(`{"supportedVersions":["2026-07-28"]}`)}
	h.recognize()
	if !h.sessionless || h.lacks != "" || string(h.opening) != opening {
		t.Errorf("a server without it: %v, %v, %s", h.sessionless, h.lacks, h.opening)
	}
	h.opening = codec.Raw(`{"protocolVersion":"2025-11-25"}`)
	h.recognize()
	if !h.sessionless || h.lacks != withSession || versionOf(h.opening) != withSession {
		t.Errorf("a server without it, asked with it: %v, %v, %s", h.sessionless, h.lacks, h.opening)
	}
}
