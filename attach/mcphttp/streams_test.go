package mcphttp

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestStreams runs the scenarios of testdata/streams.txt. A line of one is what happens, and
// behind "→" what follows from it:
//
//	post ID…            requests come in one body; "post plain ID…": they take JSON only; "ID/TOKEN": it gives a token
//	say TEXT            the server says a message
//	read STREAM         a caller reads a stream from where the last one stopped
//	read STREAM from N  …from behind the first N events
//	leave STREAM        the caller is cut off
//	name STREAM         the caller knows ids of the stream
//	cancel ID           the caller takes a request back
//	pad N KIND          N bytes are put to the standing stream, as a note or as a request
func TestStreams(t *testing.T) {
	text, err := os.ReadFile("testdata/streams.txt")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for scenario := range strings.SplitSeq(string(text), "\n\n") {
		title, body, _ := strings.Cut(strings.TrimSpace(scenario), "\n")
		if !strings.HasPrefix(title, "# ") {
			t.Fatalf("a scenario without a title: %q", title)
		}
		ran++
		t.Run(strings.TrimPrefix(title, "# "), func(t *testing.T) {
			p := player{streams: newStreams(), taken: map[uint64]chan struct{}{}}
			for line := range strings.Lines(body) {
				act, want, _ := strings.Cut(strings.TrimSpace(line), "→")
				if got := p.play(t, strings.Fields(act)); got != strings.TrimSpace(want) {
					t.Fatalf("%s→ %s, want %s", act, got, want)
				}
			}
		})
	}
	if ran < 10 {
		t.Errorf("only %d scenarios", ran)
	}
}

type player struct {
	streams
	taken map[uint64]chan struct{}
	pads  int
}

func (p *player) stream(t *testing.T, number string) *stream {
	t.Helper()
	i := slices.IndexFunc(p.all, func(st *stream) bool { return fmt.Sprint(st.number) == number })
	if i < 0 {
		t.Fatalf("no stream %s", number)
	}
	return p.all[i]
}

func (p *player) play(t *testing.T, words []string) string {
	t.Helper()
	switch verb, rest := words[0], words[1:]; verb {
	case "post":
		plain := rest[0] == "plain"
		if plain {
			rest = rest[1:]
		}
		var list []message
		for _, id := range rest {
			id, token, _ := strings.Cut(id, "/")
			text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"m","params":{"_meta":{"progressToken":%s}}}`, id, token)
			if token == "" {
				text = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"m"}`, id)
			}
			list = append(list, messageOf([]byte(text)))
		}
		st, err := p.begin(list, plain)
		if err != nil {
			return err.Error()
		}
		p.taken[st.number] = st.join()
		return fmt.Sprint("stream ", st.number)
	case "say":
		st := p.put(messageOf([]byte(strings.Join(rest, " "))))
		return p.result(st)
	case "pad":
		n, err := strconv.Atoi(rest[0])
		if err != nil {
			t.Fatal(err)
		}
		p.pads++
		text := fmt.Sprintf(`{"jsonrpc":"2.0","method":"note","params":"%s"}`, strings.Repeat("x", n))
		if rest[1] == "request" {
			text = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ask","params":"%s"}`, p.pads, strings.Repeat("x", n))
		}
		return p.result(p.put(messageOf([]byte(text))))
	case "answer": // with so many bytes
		n, err := strconv.Atoi(rest[1])
		if err != nil {
			t.Fatal(err)
		}
		return p.result(p.put(messageOf(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":"%s"}`, rest[0], strings.Repeat("x", n)))))
	case "read":
		st := p.stream(t, rest[0])
		n := st.sent
		if len(rest) > 1 {
			var err error
			if st, n, err = p.at(rest[0] + "-" + rest[2]); err != nil {
				return err.Error()
			}
		}
		if p.taken[st.number] != st.reader || st.reader == nil {
			p.taken[st.number] = st.join()
		}
		out := ""
		for _, e := range st.from(n) {
			n++
			text := string(e.text)
			if len(text) > 200 {
				text = fmt.Sprintf("%d bytes", len(text))
			}
			out += " " + text
		}
		st.wrote(max(n, st.past))
		if st.over {
			out += " end"
		}
		return strings.TrimSpace(out)
	case "resume":
		if _, _, err := p.at(rest[0]); err != nil {
			return err.Error()
		}
		return "yes"
	case "leave":
		st := p.stream(t, rest[0])
		p.leave(st, p.taken[st.number])
		p.room()
		return ""
	case "name":
		p.stream(t, rest[0]).named = true
		return ""
	case "cancel":
		p.withdraw(rest[0])
		return ""
	case "unread":
		return fmt.Sprint(p.stream(t, rest[0]).unread)
	}
	t.Fatalf("what is %q?", words)
	return ""
}

// result says where a message went, and what was dropped for it.
func (p *player) result(st *stream) string {
	out := "nowhere"
	if st != nil {
		out = fmt.Sprint("stream ", st.number)
	}
	refused, lost := p.room()
	if lost > 0 {
		out += fmt.Sprintf(", %d lost", lost)
	}
	if len(refused) > 0 {
		out += ", refused " + strings.Join(refused, " ")
	}
	return out
}
