package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// A supervisor is stopped and started again under an editor that uses the extensions of a host through
// a door. The attached program waits for the supervisor, and the editor goes on.
func TestAttachToExtensionsOutlivesAStop(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		work := t.TempDir()
		file := written(t, work, "a.acme", "def one\none two\n")
		d := daemonOf(t, configuredHost(t, version, "features", fmt.Sprintf("    workspace = [%q]\n    serve \"lsp\" {}\n", work)))
		d.run()
		told := new(lockedBuffer)
		a, cmd := attachTelling(t, told, jsonrpc.Headers(jsonrpc.Options{}), work, "--socket", d.dir+"/control", "code")
		a.must("initialize", opening(work))
		a.tell("initialized", dict{})
		at := docAt(opensDoc(a, file, "def one\none two\n"), 1, 1)
		for range 3 {
			var got json.RawMessage
			eventually(t, func() bool { // the answer is null until the extension is active
				got = json.RawMessage(a.must("textDocument/definition", at))
				return strings.Contains(string(got), `"line":0,"character":4`)
			})
			d.again(syscall.SIGTERM)
		}
		if strings.Contains(told.String(), "no program can attach") {
			t.Error(told)
		}
		if err := a.rw.Close(); err != nil {
			t.Error(err)
		}
		endsWith(t, a, cmd, 0, told)
		d.end(syscall.SIGTERM)
	})
}
