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
					t.Skip(err)
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

// A server that ends, or says what was not expected, is no server that answers.
func TestBareClientSeesWhatIsWrong(t *testing.T) {
	opened := `{"id":2,"result":{}}` + "\n"
	for name, says := range map[string]string{
		"nothing":          "",
		"no JSON":          "hello\n",
		"somebody else":    `{"id":"x","result":{}}` + "\n",
		"ends":             opened,
		"error":            opened + `{"id":3,"error":{"code":1,"message":"no"}}` + "\n",
		"no JSON any more": opened + "hello\n",
	} {
		// It reads what it is asked, so that it is not ended by it.
		a, err := dialJSON([]string{"sh", "-c", `printf %s "$1"; cat >&-`, "sh", says}, lines{})
		if err != nil {
			continue
		}
		if err := a.Ask(t.Context()); err == nil {
			t.Errorf("%s: an answer", name)
		}
		if err := a.Close(); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
	}
}
