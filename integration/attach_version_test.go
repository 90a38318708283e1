//go:build linux

package integration

import (
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
