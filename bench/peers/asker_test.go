package peers

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/hostsup/hostsup/internal/require"
)

// TestEveryAskerAsks asks real programs from many goroutines.
func TestEveryAskerAsks(t *testing.T) {
	npm := func(open func([]string, bool) (Asker, error), name string, args ...string) func(bool) (Asker, error) {
		return func(supervised bool) (Asker, error) {
			path, err := filepath.Abs(filepath.Join("../../.cache/peers/node_modules/.bin", name))
			if err == nil {
				_, err = os.Stat(path)
			}
			if err != nil {
				return nil, errors.Join(err, ErrMissing)
			}
			return open(append([]string{path}, args...), supervised)
		}
	}
	for name, open := range map[string]func(bool) (Asker, error){
		"neovim":  Neovim,
		"headers": npm(LanguageServer, "vscode-json-language-server", "--stdio"),
		"lines":   npm(MCPServer, "mcp-server-everything", "stdio"),
	} {
		for way, supervised := range map[string]bool{"hostsup": true, "bare": false} {
			t.Run(name+"/"+way, func(t *testing.T) {
				a, err := open(supervised)
				if errors.Is(err, ErrMissing) {
					require.Missing(t, "%v", err)
				}
				if err != nil {
					t.Fatal(err)
				}
				var wg sync.WaitGroup
				for range 16 {
					wg.Go(func() {
						for range 20 {
							if err := a.Ask(t.Context()); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				if err := a.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
		}
	}
}

func TestFramings(t *testing.T) {
	messages := []string{`{"a":1}`, `{}`, `{"b":"` + strings.Repeat("x", 20_000) + `"}`}
	for _, f := range []framing{headers{}, lines{}} {
		var stream []byte
		for _, m := range messages {
			stream = f.write(stream, []byte(m))
		}
		r := bufio.NewReaderSize(iotest.HalfReader(strings.NewReader(string(stream))), 64<<10)
		var buf []byte
		for _, want := range messages {
			var err error
			if buf, err = f.read(r, buf); err != nil || strings.TrimSpace(string(buf)) != want {
				t.Errorf("%T: %.50q, %v", f, buf, err)
			}
		}
		if _, err := f.read(r, buf); !errors.Is(err, io.EOF) {
			t.Errorf("%T: at the end %v", f, err)
		}
	}
	for _, bad := range []string{"\r\n", "Content-Length: x\r\n\r\n", "Content-Length: -1\r\n\r\n", "Content-Length: 5\r\n\r\n{}", "Content-Length: 99999999\r\n\r\n"} {
		if m, err := (headers{}).read(bufio.NewReader(strings.NewReader(bad)), nil); err == nil {
			t.Errorf("%q is taken for the message %q", bad, m)
		}
	}
}

// The bare client takes the right answer for one, and nothing else.
func TestBareClientJudgesAnswers(t *testing.T) {
	const script = `read a; echo '{"id":2,"result":{}}'; read b; read c; printf %s "$1"; exec cat >/dev/null`
	for says, want := range map[string]string{
		`{"id":3,"result":{}}` + "\n": "",
		`{"method":"notifications/message","params":{}}` + "\n" + `{"id":3,"result":{}}` + "\n": "",
		`{"id":3,"error":{"code":1,"message":"no"}}` + "\n":                                     errAnswer.Error(),
		`{"id":"x","result":{}}` + "\n":                                                         `an answer to "x"`,
		"hello\n":                                                                               "hello",
		"":                                                                                      io.EOF.Error(),
	} {
		a, err := dialJSON([]string{"sh", "-c", script, "sh", says}, lines{})
		if err != nil {
			t.Fatal(err)
		}
		switch err := a.Ask(t.Context()); {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", says, err, want)
		}
		if err := a.Close(); err != nil {
			t.Errorf("%q: close: %v", says, err)
		}
	}
	if a, err := dialJSON([]string{"sh", "-c", "exec cat >/dev/null"}, lines{}); !errors.Is(err, io.EOF) {
		t.Errorf("a server that ends unopened: %v, %v", a, err)
	}
}
