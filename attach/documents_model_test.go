package attach

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/require"
)

var (
	modelSeed  = flag.Uint64("seed", 0, "the one seed of TestDocumentsModel; 0: those in the test")
	modelSteps = flag.Int("steps", 2000, "the steps of each seed of TestDocumentsModel")
)

// units is how long a text is in an encoding.
func units(s, encoding string) int {
	switch encoding {
	case "utf-8":
		return len(s)
	case "utf-32":
		return utf8.RuneCountInString(s)
	}
	return len(utf16.Encode([]rune(s)))
}

// lines splits a text behind its ends of lines.
func lines(text string) []string {
	var out []string
	for {
		i := strings.IndexAny(text, "\r\n")
		if i < 0 {
			return append(out, text)
		}
		if strings.HasPrefix(text[i:], "\r\n") {
			i++
		}
		out, text = append(out, text[:i+1]), text[i+1:]
	}
}

// placeOf is the position of a character, counted from its line.
func placeOf(text string, at int, encoding string) position {
	all := lines(text)
	for i, line := range all {
		if at < len(line) || i == len(all)-1 {
			return position{i, units(line[:at], encoding)}
		}
		at -= len(line)
	}
	return position{}
}

// modelServer keeps documents as a language server does. It shares no code with what
// it tests.
type modelServer struct {
	encoding string
	whole    bool
	docs     map[string]string
	versions map[string]int64
}

func (s *modelServer) take(t *testing.T, m codec.Message) {
	t.Helper()
	var p struct {
		TextDocument struct {
			URI     string `json:"uri"`
			Version int64  `json:"version"`
			Text    string `json:"text"`
		} `json:"textDocument"`
		ContentChanges []contentChange `json:"contentChanges"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		t.Fatal(err)
	}
	uri := p.TextDocument.URI
	text, known := s.docs[uri]
	if known == (m.Method == methodDidOpen) {
		t.Fatalf("%s %s", m.Method, m.Params)
	}
	switch m.Method {
	case methodDidOpen:
		s.docs[uri], s.versions[uri] = p.TextDocument.Text, p.TextDocument.Version
	case methodDidClose:
		delete(s.docs, uri)
	case methodDidChange:
		if p.TextDocument.Version <= s.versions[uri] {
			t.Fatalf("version %d after %d", p.TextDocument.Version, s.versions[uri])
		}
		s.versions[uri] = p.TextDocument.Version
		for _, ch := range p.ContentChanges {
			if ch.Range == nil {
				text = ch.Text
				continue
			}
			if s.whole {
				t.Fatalf("a part of a text: %s", m.Params)
			}
			find := func(at position) int {
				all, before := lines(text), 0
				for _, line := range all[:at.Line] {
					before += len(line)
				}
				for i := range all[at.Line] + "\x00" {
					if units(all[at.Line][:i], s.encoding) == at.Character {
						return before + i
					}
				}
				t.Fatalf("%+v is within a character of %q", at, text)
				return 0
			}
			text = text[:find(ch.Range.Start)] + ch.Text + text[find(ch.Range.End):]
		}
		s.docs[uri] = text
	}
}

// Clients open, edit, ask about, close and leave documents as they like, and lives end:
// the server always has the text of the client that has used a document last.
func TestDocumentsModel(t *testing.T) {
	seeds := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}[:require.Rounds(12, 3)]
	if *modelSeed != 0 {
		seeds = []uint64{*modelSeed}
	}
	for _, seed := range seeds {
		for _, encoding := range []string{"utf-8", "utf-16", "utf-32"} {
			t.Run(fmt.Sprintf("%d-%s", seed, encoding), func(t *testing.T) { modelRun(t, seed, encoding, *modelSteps) })
		}
	}
}

func modelRun(t *testing.T, seed uint64, encoding string, steps int) {
	rnd := rand.New(rand.NewPCG(seed, 7))
	letters := []rune("abé𝄞\n\r")
	word := func(n int) string {
		var b strings.Builder
		for range rnd.IntN(n) {
			b.WriteRune(letters[rnd.IntN(len(letters))])
		}
		return b.String()
	}
	boundary := func(text string) int { // of a character; a \r\n is one
		var all []int
		for i := range text {
			if i == 0 || text[i-1] != '\r' || text[i] != '\n' {
				all = append(all, i)
			}
		}
		all = append(all, len(text))
		return all[rnd.IntN(len(all))]
	}
	ds := documents{open: map[string]*document{}}
	clients := make([]*client, 2+rnd.IntN(4))
	shows := make([]map[string]string, len(clients)) // what the people see
	versions := make([]map[string]int, len(clients))
	for i := range clients {
		clients[i], shows[i], versions[i] = new(client), map[string]string{}, map[string]int{}
	}
	server := &modelServer{encoding: encoding, docs: map[string]string{}, versions: map[string]int64{}}
	lastUse := map[string][]int{} // of each document, by clients
	use := func(uri string, i int) {
		lastUse[uri] = append(slices.DeleteFunc(lastUse[uri], func(o int) bool { return o == i }), i)
	}
	unuse := func(uri string, i int) {
		delete(shows[i], uri)
		lastUse[uri] = slices.DeleteFunc(lastUse[uri], func(o int) bool { return o == i })
	}
	for step := range steps {
		i := rnd.IntN(len(clients))
		c, uri := clients[i], string(rune('u'+rnd.IntN(3)))
		text, has := shows[i][uri]
		var out outcome
		switch what := rnd.IntN(20); {
		case !has && what < 12:
			text = word(12)
			if o := lastUse[uri]; len(o) > 0 && rnd.IntN(2) == 0 {
				text = shows[o[len(o)-1]][uri]
			}
			versions[i][uri] = rnd.IntN(5)
			out, _ = ds.didOpen(c, encode(map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "x", "version": versions[i][uri], "text": text}}))
			shows[i][uri] = text
			use(uri, i)
		case has && what < 12:
			var changes []any
			for range 1 + rnd.IntN(3) {
				from, to := boundary(text), boundary(text)
				if from > to {
					from, to = to, from
				}
				with := word(5)
				if rnd.IntN(10) == 0 {
					changes, text = append(changes, map[string]any{"text": with}), with
					continue
				}
				changes = append(changes, map[string]any{"range": map[string]any{"start": placeOf(text, from, encoding), "end": placeOf(text, to, encoding)}, "text": with})
				text = text[:from] + with + text[to:]
			}
			versions[i][uri] += 1 + rnd.IntN(3)
			var err error
			out, err = ds.didChange(c, encode(map[string]any{"textDocument": map[string]any{"uri": uri, "version": versions[i][uri]}, "contentChanges": changes}), terms{encoding: encoding, whole: server.whole})
			if err != nil {
				t.Fatal(err)
			}
			shows[i][uri] = text
			use(uri, i)
		case what < 15:
			if has && server.docs[uri] != text {
				use(uri, i)
			}
			out = ds.asks(c, uri)
		case what < 17:
			if has {
				out = ds.didClose(c, closed(uri))
				unuse(uri, i)
			}
		case what == 17:
			for _, o := range ds.left(c) {
				out.host = append(out.host, o.host...)
			}
			for uri := range shows[i] {
				unuse(uri, i)
			}
		case what == 18: // another life, perhaps of another version
			server = &modelServer{encoding: encoding, whole: rnd.IntN(2) == 0, docs: map[string]string{}, versions: map[string]int64{}}
			for _, d := range ds.all() {
				server.take(t, codec.Message{Method: methodDidOpen, Params: d.opened()})
			}
		}
		for _, m := range out.host {
			server.take(t, m)
		}
		open := 0
		for uri, users := range lastUse {
			if len(users) == 0 {
				continue
			}
			open++
			if want := shows[users[len(users)-1]][uri]; server.docs[uri] != want {
				t.Fatalf("step %d: the server has %q, and the client that used it last shows %q", step, server.docs[uri], want)
			}
			for _, i := range users {
				if v := ds.open[uri].view(clients[i]); v == nil || v.text != shows[i][uri] {
					t.Fatalf("step %d: the hub has %+v for a client, which shows %q", step, v, shows[i][uri])
				}
			}
		}
		if len(server.docs) != open || len(ds.open) != open {
			t.Fatalf("step %d: %d documents are open, the server has %d and the hub %d", step, open, len(server.docs), len(ds.open))
		}
	}
}
