//go:build linux

package integration

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// encodings says what a client counts characters in.
func encodings(hello dict, names ...string) dict {
	hello["capabilities"].(dict)["general"] = dict{"positionEncodings": names}
	return hello
}

// The next life is another version of the server: what can be told to it exactly is,
// and clients that it would misunderstand are ended with the reason.
func TestAttachAnotherVersion(t *testing.T) {
	t.Parallel()
	const before = `{"textDocumentSync":{"openClose":true,"change":2},"hoverProvider":true,"positionEncoding":"utf-16"}`
	h, become := textServer(t, before)
	sup, host := alone(t, h)
	hello := encodings(opening(t.TempDir()), "utf-8", "utf-16")
	a := newSharer(t, sup, hello)
	a.opens("u", 1, "𝄞 one")

	// It accepts whole texts alone now: parts would be put into the wrong place.
	become(strings.Replace(before, `"change":2`, `"change":1`, 1))
	signal(t, host, syscall.SIGKILL)
	runs(t, host, 2)
	a.inserts("u", 2, at(0, 3), "the ")
	a.has(host, "u", "𝄞 the one")
	if got := toldOf(toldTo(t, host), "textDocument/didChange"); strings.Contains(got, "range") {
		t.Errorf("a server of whole texts is told %s", got)
	}
	// It was asked for nothing but what the client counts in.
	if got := toldOf(toldTo(t, host), "initialize"); !strings.Contains(got, `"positionEncodings":["utf-16"]`) {
		t.Errorf("it is opened with %s", got)
	}

	for what, capabilities := range map[string]string{
		"utf-8":         strings.Replace(before, "utf-16", "utf-8", 1),
		"hoverProvider": strings.Replace(before, `"hoverProvider":true`, `"hoverProvider":false`, 1),
	} {
		become(before)
		b := newSharer(t, sup, hello)
		life := host.Status().Life
		become(capabilities)
		signal(t, host, syscall.SIGKILL)
		for _, c := range []sharer{a, b} {
			if err := <-c.served; err == nil || !strings.Contains(err.Error(), "come back different") || !strings.Contains(err.Error(), what) {
				t.Errorf("a client of another version: %v, want %s", err, what)
			}
		}
		runs(t, host, life+1)
		become(before)
		signal(t, host, syscall.SIGKILL)
		runs(t, host, life+2)
		a = newSharer(t, sup, hello) // it opens anew
	}
	a.leaves()
}

// Public language servers are killed, and come back in another version: clients go on with
// what it can do as well, with their text, and are ended with the reason where it cannot.
func TestAttachVersionsOfServers(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]struct {
		older string // in the folder of packages
		lacks string // a capability that the older version does not offer
	}{
		"pyright":    {"pyright-before/langserver.index.js", ""},
		"typescript": {"typescript-language-server-before/lib/cli.mjs", "codeLensProvider"},
		"yaml":       {"yaml-language-server-before/bin/yaml-language-server", "documentFormattingProvider"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, dir := languages[name], t.TempDir()
			link := filepath.Join(t.TempDir(), "server")
			become := func(program string) {
				t.Helper()
				_ = os.Remove(link) // at first it does not exist
				if err := os.Symlink(program, link); err != nil {
					t.Fatal(err)
				}
			}
			h := server(t, name, jsonrpc.Headers(jsonrpc.Options{}), l.argv...)
			older, newer := npm(t, filepath.Join("..", v.older)), h.Command[0]
			h.Attach, h.Command[0] = true, link
			h.Command = append([]string{peer(t, "node")}, h.Command...)
			become(older)
			sup, host := alone(t, h)
			uri := "file://" + filepath.Join(dir, l.file)
			lines := 0 // put in front of the text
			answers := func(a *attached) {
				t.Helper()
				q := dict{"textDocument": dict{"uri": uri}}
				if l.at != nil {
					q["position"] = dict{"line": l.at["line"].(int) + lines, "character": l.at["character"]}
				}
				eventually(t, func() bool { // it may answer before it has looked at the document
					out, err := a.call(l.asks, q)
					if err != nil {
						t.Fatalf("life %d: %v", host.Status().Life, err)
					}
					return strings.Contains(out, l.says)
				}, "no answer about the text")
			}
			opens := func() *attached {
				a := attachEditor(t, sup, name, h.Protocol, dir)
				a.tell("workspace/didChangeConfiguration", dict{"settings": dict{}}) // without it the older pyright does nothing
				a.tell("textDocument/didOpen", dict{"textDocument": dict{"uri": uri, "languageId": l.id, "version": 1, "text": l.text}})
				lines = 0
				return a
			}
			edits := func(a *attached) {
				lines++
				a.tell("textDocument/didChange", dict{"textDocument": dict{"uri": uri, "version": 1 + lines}, "contentChanges": []dict{
					{"range": dict{"start": at(0, 0), "end": at(0, 0)}, "text": "\n"},
				}})
			}
			a := opens()
			edits(a)
			answers(a)

			become(newer)
			signal(t, host, syscall.SIGKILL)
			answers(a)
			edits(a)
			answers(a)
			runs(t, host, 2)

			if v.lacks != "" {
				_ = a.rw.Close()
				<-a.served
				a = opens()
				answers(a)
			}
			life := host.Status().Life
			become(older)
			signal(t, host, syscall.SIGKILL)
			if v.lacks != "" {
				if err := <-a.served; err == nil || !strings.Contains(err.Error(), "come back different") || !strings.Contains(err.Error(), v.lacks) {
					t.Errorf("a client of the newer version: %v, want %s", err, v.lacks)
				}
				a = opens()
			}
			answers(a)
			runs(t, host, life+1)
		})
	}
}

// A client with another opening gets another life, unless others are attached: then it
// shares theirs, or is refused what it would misunderstand.
func TestAttachAnotherOpening(t *testing.T) {
	t.Parallel()
	h, become := textServer(t, incremental)
	sup, host := alone(t, h)
	dir := t.TempDir()
	plain := opening(dir)
	a := newSharer(t, sup, plain)
	a.leaves()
	a = newSharer(t, sup, plain)
	if life := host.Status().Life; life != 1 {
		t.Errorf("life %d serves a client with the same opening", life)
	}
	a.leaves()
	become(strings.Replace(incremental, "{", `{"positionEncoding":"utf-8",`, 1))
	eight := encodings(opening(dir), "utf-8")
	a = newSharer(t, sup, eight)
	if life := host.Status().Life; life != 2 {
		t.Errorf("life %d serves a client with another opening, want 2", life)
	}
	if got := toldOf(toldTo(t, host), "initialize"); !strings.Contains(got, "utf-8") {
		t.Errorf("it is opened with %s", got)
	}
	b := attachTo(t, sup, "ls", jsonrpc.Headers(jsonrpc.Options{}))
	if out, err := b.call("initialize", plain); err == nil || !strings.Contains(err.Error(), "counts characters in utf-8") {
		t.Errorf("a client that counts otherwise: %s, %v", out, err)
	}
	_ = b.rw.Close()
	<-b.served
	a.leaves()

	// Also where the life is a new one, of the opening that has left.
	signal(t, host, syscall.SIGKILL)
	runs(t, host, 3)
	become(incremental)
	a = newSharer(t, sup, plain)
	if got := toldOf(toldTo(t, host), "initialize"); strings.Contains(got, "utf-8") || host.Status().Life != 4 {
		t.Errorf("life %d is opened with %s", host.Status().Life, got)
	}
	a.leaves()
}
