package native_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/native"
)

// frame reads hex with spaces, line ends and comments from "#" on.
func frame(t *testing.T, text string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// show writes a message as one line, values as JSON.
func show(t *testing.T, m *codec.Message) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(m.Kind.String())
	if m.ID != 0 {
		fmt.Fprintf(&b, " id=%d", m.ID)
	}
	if m.Method != "" {
		fmt.Fprintf(&b, " method=%q", m.Method)
	}
	value := func(name string, raw codec.Raw) {
		text, err := mpack.Encoding{}.ToJSON(raw)
		if err != nil {
			t.Fatalf("%s of %s: %v", name, m.Kind, err)
		}
		fmt.Fprintf(&b, " %s=%s", name, text)
	}
	switch m.Kind {
	case codec.Request, codec.Notification:
		value("params", m.Params)
	case codec.Response:
		for e := m.Err; e != nil; e = e.Cause {
			if e != m.Err {
				b.WriteString(" cause")
			} else {
				b.WriteString(" error")
			}
			fmt.Fprintf(&b, "={name=%q message=%q", e.Name, e.Message)
			if e.Code != 0 {
				fmt.Fprintf(&b, " code=%d", e.Code)
			}
			if e.Stack != "" {
				fmt.Fprintf(&b, " stack=%q", e.Stack)
			}
			if e.Data != nil {
				value("data", e.Data)
			}
			b.WriteString("}")
		}
		if m.Err == nil {
			value("result", m.Result)
		}
	case codec.Item:
		fmt.Fprintf(&b, " seq=%d", m.Seq)
		value("value", m.Result)
	case codec.Credit:
		fmt.Fprintf(&b, " n=%d", m.Credit)
	}
	if m.Trace != (codec.Trace{}) {
		fmt.Fprintf(&b, " traceparent=%q tracestate=%q", m.Trace.Parent, m.Trace.State)
	}
	return b.String()
}

// caps reads the argument caps=(ack,ping); without it all are in force.
func caps(t *testing.T, d *datadriven.TestData) codec.Caps {
	t.Helper()
	if !d.HasArg("caps") {
		return codec.CapAll
	}
	var out codec.Caps
	for _, arg := range d.CmdArgs {
		for _, name := range arg.Vals {
			is, known := map[string]codec.Caps{"ack": codec.CapAck, "cancel": codec.CapCancel, "stream": codec.CapStream, "trace": codec.CapTrace, "ping": codec.CapPing, "extensions": codec.CapExtensions}[name]
			if arg.Key == "caps" && known {
				out |= is
			} else if arg.Key == "caps" && name != "none" {
				d.Fatalf(t, "no capability %q", name)
			}
		}
	}
	return out
}

// The frames of testdata/frames are what a host in another language can be
// tested with. "read" reads one frame and shows the message; it says when the
// same message is appended as other bytes. "refuse" shows the error.
func TestFrames(t *testing.T) {
	datadriven.Walk(t, "testdata/frames", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			b := frame(t, d.Input)
			sup, _, toSup, _, r, _ := pair(t, caps(t, d))
			toSup.Write(b)
			var m codec.Message
			err := r.Next(&m)
			switch d.Cmd {
			case "refuse":
				var f *codec.FrameError
				if !errors.As(err, &f) {
					t.Fatalf("%s: got %v, %s; want a FrameError", d.Pos, err, show(t, &m))
				}
				if again := r.Next(&m); again != err {
					t.Errorf("%s: the reader goes on after an error: %v", d.Pos, again)
				}
				return err.Error() + "\n"
			case "read":
				if err != nil {
					t.Fatalf("%s: %v", d.Pos, err)
				}
				out := show(t, &m) + "\n"
				if m.Size != len(b) {
					t.Errorf("%s: Size = %d, want %d", d.Pos, m.Size, len(b))
				}
				back, err := sup.Append(nil, &m)
				if err != nil {
					t.Fatalf("%s: append: %v", d.Pos, err)
				}
				if !bytes.Equal(back, b) {
					out += fmt.Sprintf("appended as % x\n", back)
				}
				return out
			}
			d.Fatalf(t, "no command %q", d.Cmd)
			return ""
		})
	})
}

// Scripts of the handshake, from either side. A message is a kind, an id or
// method where the kind has one, and JSON.
func TestHandshake(t *testing.T) {
	datadriven.RunTest(t, "testdata/handshake", func() func(*testing.T, *datadriven.TestData) string {
		var (
			s    *native.Session
			hs   codec.Handshake
			acc  *native.Acceptor
			done bool
		)
		shown := func(t *testing.T, out []codec.Message, err error) string {
			var b strings.Builder
			for i := range out {
				if _, err := s.Append(nil, &out[i]); err != nil {
					t.Errorf("Append: %v", err)
				}
				fmt.Fprintf(&b, "-> %s\n", show(t, &out[i]))
			}
			switch {
			case err != nil:
				fmt.Fprintf(&b, "error: %v\n", err)
				for name, is := range map[string]error{"early": codec.ErrEarly, "version": codec.ErrVersion} {
					if errors.Is(err, is) {
						fmt.Fprintf(&b, "class: %s\n", name)
					}
				}
			case done:
				fmt.Fprintf(&b, "done, caps %05b, ping %q\n", s.Caps(), s.Ping())
			default:
				b.WriteString("waiting\n")
			}
			return b.String()
		}
		return func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "supervisor":
				s, acc = native.Open(codec.Limits{}), nil
				hello := codec.Hello{Supervisor: "hostsup", Version: "0.1.0", Host: "ts", Life: 3}
				if d.Input != "" {
					raw, err := mpack.Encoding{}.FromJSON([]byte(d.Input))
					if err != nil {
						d.Fatalf(t, "%v", err)
					}
					hello.Init = raw
				}
				hello.Extended = d.HasArg("lives")
				for _, arg := range d.CmdArgs {
					if arg.Key == "lives" && !slices.Equal(arg.Vals, []string{"unknown"}) {
						hello.Extensions = slices.DeleteFunc(append([]string{}, arg.Vals...), func(s string) bool { return s == "none" })
					}
				}
				hs = s.Handshake(hello)
				var out []codec.Message
				out, done = hs.Start()
				return shown(t, out, nil)
			case "host":
				s, hs, done = native.Open(codec.Limits{}), nil, false
				self := native.Self{Name: "demo", Version: "1.2", Caps: caps(t, d)}
				if d.Input != "" {
					if err := json.Unmarshal([]byte(d.Input), &self.Extensions); err != nil {
						d.Fatalf(t, "%v", err)
					}
				}
				acc = s.Accept(self)
				return ""
			case "handle":
				m := parse(t, d)
				var out []codec.Message
				var err error
				if acc != nil {
					out, done, err = acc.Handle(&m)
				} else {
					out, done, err = hs.Handle(&m)
				}
				return shown(t, out, err)
			case "peer":
				return fmt.Sprintf("%+v\n", hs.Peer())
			case "announced":
				list, ok := s.Announced()
				out := fmt.Sprintf("%t\n", ok)
				for _, x := range list {
					out += fmt.Sprintf("%q %q events %q depends_on %q methods %q\n", x.ID, x.Version, x.Events, x.DependsOn, x.Methods)
				}
				return out
			case "lives":
				list := acc.Opening().Extensions
				return fmt.Sprintf("%q, known: %t\n", list, list != nil)
			case "opening":
				o := acc.Opening()
				init, err := mpack.Encoding{}.ToJSON(o.Init)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				return fmt.Sprintf("supervisor %q %q, host %q life %d, caps %05b, init %s\n", o.Supervisor, o.Version, o.Host, o.Life, o.Caps, init)
			}
			d.Fatalf(t, "no command %q", d.Cmd)
			return ""
		}
	}())
}

func parse(t *testing.T, d *datadriven.TestData) codec.Message {
	t.Helper()
	words := strings.SplitN(d.Input, " ", 2)
	var m codec.Message
	for k := codec.Request; k <= codec.Credit; k++ {
		if k.String() == words[0] {
			m.Kind = k
		}
	}
	rest := strings.Join(words[1:], " ")
	if m.Kind != codec.Notification {
		id, after, _ := strings.Cut(rest, " ")
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			d.Fatalf(t, "id: %v", err)
		}
		m.ID, rest = uint32(n), after
	}
	if m.Kind == codec.Request || m.Kind == codec.Notification {
		m.Method, rest, _ = strings.Cut(rest, " ")
	}
	failed := m.Kind == codec.Response && strings.HasPrefix(rest, "error ")
	raw, err := mpack.Encoding{}.FromJSON([]byte(strings.TrimPrefix(rest, "error ")))
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	switch {
	case failed:
		m.Err = new(codec.Error)
		if err := (mpack.Encoding{}).Unmarshal(raw, m.Err); err != nil {
			d.Fatalf(t, "%v", err)
		}
	case m.Kind == codec.Response:
		m.Result = raw
	default:
		m.Params = raw
	}
	return m
}
