package throttle

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/vmihailenco/msgpack/v5"
)

// The scripts under testdata/scripts read as stories: the time, a method and its
// params; then what is sent. `go test ./throttle -args -rewrite`
// writes them anew.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		var m *Machine[string]
		begin := time.Unix(0, 0)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var b strings.Builder
			if d.Cmd == "new" {
				var rules []Rule
				for line := range strings.Lines(d.Input) {
					f := append(strings.Fields(line), "")
					every, err := time.ParseDuration(f[1])
					if err != nil {
						t.Fatal(err)
					}
					rules = append(rules, Rule{f[0], every, f[2]})
				}
				var err error
				if m, err = New[string](rules, nil); err != nil {
					return err.Error() + "\n"
				}
				return "ok\n"
			}
			for line := range strings.Lines(d.Input) {
				f := strings.Fields(line)
				at, err := time.ParseDuration(f[0])
				if err != nil {
					t.Fatal(err)
				}
				now := begin.Add(at)
				var sent []string
				switch f[1] {
				case "fire":
					sent = m.Fire(now)
				case "drain":
					sent = m.Drain()
				case "drop":
					m.Drop()
				case "request":
					sent = append(m.Clear(JSON([]byte(f[2])), now), strings.Join(f[1:], " "))
				default:
					sent = m.Push(f[1], strings.Join(f[1:], " "), JSON([]byte(f[2])), now)
				}
				fmt.Fprintf(&b, "%s %s:", f[0], f[1])
				if len(sent) == 0 {
					b.WriteString(" -")
				}
				for _, s := range sent {
					fmt.Fprintf(&b, " [%s]", s)
				}
				if due, ok := m.Due(); ok {
					fmt.Fprintf(&b, " due %s", due.Sub(begin))
				}
				b.WriteByte('\n')
			}
			return b.String()
		})
	})
}

func TestRulesAreChecked(t *testing.T) {
	for _, rules := range [][]Rule{{{"", 1, ""}}, {{"a", 0, ""}}, {{"a", -1, ""}}, {{"a", 1, ""}, {"a", 2, "x"}},
		{{"a", 1, "."}}, {{"a", 1, "a..b"}}, {{"a", 1, ".a"}}, {{"a", 1, "a."}}, {{"a", 1, "a b"}}, {{"a", 1, "a\x00"}}, {{"a", 1, "\xff"}}} {
		if _, err := New[int](rules, nil); !errors.Is(err, ErrRule) {
			t.Errorf("%v: %v", rules, err)
		}
	}
}

type message struct {
	N      int
	Method string
	Key    string
}

// Whatever is pushed: what is sent of a key is in the order in which it was
// pushed, the last of each method and key is sent, what has no rule is never
// missing, and of the same method and key two are never closer than Every
// unless another message of the key has driven them out.
func TestProperties(t *testing.T) {
	methods := []string{"change", "cursor", "save", "all"}
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 11))
		m, err := New[message]([]Rule{{"change", 10, "uri"}, {"cursor", 25, "uri"}, {"all", 7, ""}}, func(msg message) int { return msg.N })
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(0, 0)
		lastSent := map[string]int{}   // by key: the number
		lastPushed := map[slotID]int{} // what has to come in the end
		gotLast := map[slotID]int{}
		saves, sentSaves := 0, 0
		sent := func(list []message) {
			for _, s := range list {
				if s.Method != "all" {
					if s.N <= lastSent[s.Key] {
						t.Fatalf("seed %d: %v after %d", seed, s, lastSent[s.Key])
					}
					lastSent[s.Key] = s.N
				}
				gotLast[slotID{s.Method, s.Key}] = s.N
				if s.Method == "save" {
					sentSaves++
				}
			}
		}
		for n := 1; n < 400; n++ {
			now = now.Add(time.Duration(rng.IntN(5)))
			if due, ok := m.Due(); ok && !now.Before(due) && rng.IntN(3) > 0 {
				sent(m.Fire(now))
			}
			msg := message{n, methods[rng.IntN(len(methods))], fmt.Sprintf("f%d", rng.IntN(3))}
			lastPushed[slotID{msg.Method, msg.Key}] = n
			if msg.Method == "all" { // whatever its key
				msg.Key = ""
				lastPushed[slotID{"all", ""}] = n
			}
			if msg.Method == "save" {
				saves++
			}
			params := JSON([]byte(fmt.Sprintf(`{"uri":%q}`, msg.Key)))
			if msg.Method == "all" {
				params = nil
			}
			sent(m.Push(msg.Method, msg, params, now))
		}
		sent(m.Drain())
		for id, n := range lastPushed {
			if id.method == "all" && id.key != "" {
				continue
			}
			if gotLast[id] != n {
				t.Fatalf("seed %d: of %v the last sent is %d, not %d", seed, id, gotLast[id], n)
			}
		}
		if saves != sentSaves {
			t.Fatalf("seed %d: %d of %d that have no rule were sent", seed, sentSaves, saves)
		}
		total := uint64(saves)
		m.Each(func(r Rule, s Stats) {
			if total += s.Sent + s.Merged; s.Held != 0 || s.Dropped != 0 || s.Sent == 0 {
				t.Fatalf("seed %d: %s: %+v", seed, r.Method, s)
			}
		})
		if total != 399 || m.Held() != 0 || len(m.slots) != 0 || m.bytes != 0 {
			t.Fatalf("seed %d: %d counted; %d held, %d keys, %d bytes", seed, total, m.Held(), len(m.slots), m.bytes)
		}
	}
}

func TestKeysAreLimited(t *testing.T) {
	m, err := New[int]([]Rule{{"m", time.Second, "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	push := func(i int) int {
		return len(m.Push("m", i, func(string) (string, bool) { return fmt.Sprint(i), true }, now))
	}
	for i := range MaxKeys + 100 {
		push(i)
	}
	if got := len(m.slots); got != MaxKeys {
		t.Errorf("%d keys", got)
	}
	for range 3 {
		if push(MaxKeys+1) != 1 || push(1) != 0 {
			t.Error("a key that is not followed is held, or one that is followed is not")
		}
	}
	now = now.Add(time.Minute)
	if push(MaxKeys + 1); len(m.slots) != 2 {
		t.Errorf("%d keys after a minute", len(m.slots))
	}
}

// What a client keeps saying for no reason is not kept without end.
func TestBytesAreLimited(t *testing.T) {
	m, err := New[int]([]Rule{{"m", time.Second, "k"}}, func(n int) int { return n })
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	push := func(key string, n int) []int {
		return m.Push("m", n, func(string) (string, bool) { return key, true }, now)
	}
	for _, key := range []string{"a", "b"} {
		push(key, 1)
		for range 10 {
			if got := push(key, MaxHeld/2); len(got) != 0 {
				t.Fatalf("%d sent of %s", len(got), key)
			}
		}
	}
	push("c", 1)
	if got := push("c", 2); len(got) != 3 || got[2] != 2 || m.Held() != 0 || m.bytes != 0 {
		t.Errorf("sent %v; %d held, %d bytes", got, m.Held(), m.bytes)
	}
	if got := push("a", 3); len(got) != 0 {
		t.Errorf("sent %v", got)
	}
	m.Drop()
	m.Each(func(_ Rule, s Stats) {
		if want := (Stats{Sent: 6, Merged: 18, Dropped: 1}); s != want {
			t.Errorf("%+v, want %+v", s, want)
		}
	})
	if m.bytes != 0 || len(m.slots) != 0 {
		t.Errorf("%d bytes, %d keys", m.bytes, len(m.slots))
	}
}

func TestLookups(t *testing.T) {
	params := map[string]any{"textDocument": map[string]any{"uri": "file:///a", "version": 7}, "list": []any{"x", map[string]any{"on": true}}, "none": nil, "half": 0.5}
	text, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	pack, err := msgpack.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"textDocument.uri": "file:///a", "textDocument.version": "7", "list.0": "x", "list.1.on": "true",
		"uri": "file:///a", "version": "7", "on": "", "1": "", // one level down, and no further
		"textDocument": "", "list.2": "", "list.-1": "", "list.x": "", "none": "", "no": "", "textDocument.uri.x": "",
	} {
		for name, find := range map[string]Lookup{"JSON": JSON(text), "MessagePack": MessagePack(pack)} {
			if got, ok := find(path); got != want || ok != (want != "") {
				t.Errorf("%s %s: %q %v, want %q", name, path, got, ok, want)
			}
		}
	}
}

func FuzzLookups(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,"x"]}}`), "a.b.1")
	f.Add([]byte{0x81, 0xa1, 'a', 0x92, 0xc3, 0xff}, "a.1")
	f.Fuzz(func(_ *testing.T, data []byte, path string) {
		JSON(data)(path)
		MessagePack(data)(path)
	})
}

func BenchmarkPush(b *testing.B) {
	m, err := New[int]([]Rule{{"textDocument/didChange", 16 * time.Millisecond, "textDocument.uri"}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	params := []byte(`{"textDocument":{"uri":"file:///src/main.go","version":3},"contentChanges":[{"text":"` + strings.Repeat("x", 200) + `"}]}`)
	now := time.Unix(0, 0)
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Microsecond)
		m.Push("textDocument/didChange", 1, JSON(params), now)
	}
}
