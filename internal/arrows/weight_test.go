package arrows

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Limits on what supervising a host adds to a program that only makes an actor
// system: bytes of a stripped binary, and modules.
const (
	moreBytes   = 4_100_000
	moreModules = 8
)

// heavy are packages that an importer of the Go API must not link, also
// transitively: each comes with a part that a program passes in.
var heavy = []string{
	"github.com/coder/websocket", "github.com/golang-jwt/jwt", "github.com/creack/pty", // exec servers, the inspector
	"filippo.io/age", "github.com/zalando/go-keyring", "github.com/godbus/dbus", // secret stores
	module + "execserver", module + "internal/inspector", module + "inspect", module + "intercept/secret/stores",
	module + "metrics", "go.opentelemetry.io/otel/exporters/otlp", "google.golang.org/grpc", module + "traces",
	module + "attach", module + "extensions/hosted", module + "extensions/service", module + "extensions/vscode", module + "config", module + "control",
}

// isBelow reports whether path is one of the packages, or below one.
func isBelow(path string, packages ...string) bool {
	for _, p := range packages {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

// TestSupervisorIsLight holds what package supervisor may import, also transitively.
func TestSupervisorIsLight(t *testing.T) {
	for _, goos := range systems {
		for _, path := range list(t, goos)["supervisor"].Deps {
			if isBelow(path, heavy...) {
				t.Errorf("%s: supervisor imports %s", goos, path)
			}
		}
	}
}

// TestHostIsLight holds what package sdk may import, also through others: a program that
// is a host links neither actors nor a sandbox.
func TestHostIsLight(t *testing.T) {
	for _, goos := range systems {
		for _, path := range list(t, goos)["sdk"].Deps {
			if strings.Contains(strings.Split(path, "/")[0], ".") && !isBelow(path, module+"codec", module+"link", module+"internal/busypoll", module+"internal/sys",
				"github.com/vmihailenco/msgpack/v5", "github.com/vmihailenco/tagparser/v2", "golang.org/x/sys") {
				t.Errorf("%s: sdk imports %s", goos, path)
			}
		}
	}
}

// TestActorsKnowNoFeature holds what package actors may import of this module, also
// through others: features are interceptors, in packages above it.
func TestActorsKnowNoFeature(t *testing.T) {
	for _, goos := range systems {
		for _, name := range ours(list(t, goos)["actors"].Deps) {
			if !isBelow(name, "codec", "link", "lifecycle", "sandbox", "internal") {
				t.Errorf("%s: actors imports %s", goos, name)
			}
		}
	}
}

// TestInterceptorsAreFeatures holds what the packages below intercept import of this
// module: what carries messages, and other interceptors only where an arrow is drawn.
func TestInterceptorsAreFeatures(t *testing.T) {
	arrows, _ := drawn(t)
	for _, goos := range systems {
		for name, p := range list(t, goos) {
			if !isBelow(name, "intercept") {
				continue
			}
			for _, to := range ours(p.Imports) {
				if isBelow(to, "intercept") && slices.Contains(arrows[name], to) {
					continue
				}
				if !isBelow(to, "actors", "codec", "link", "lifecycle", "internal") {
					t.Errorf("%s: %s imports %s", goos, name, to)
				}
			}
		}
	}
}

// TestExecServerStandsAlone holds that only programs, the configuration, tests and the
// figures for Prometheus, which only programs import, import the exec server.
func TestExecServerStandsAlone(t *testing.T) {
	for _, goos := range systems {
		for name, p := range list(t, goos) {
			if isBelow(name, "cmd", "config", "execserver", "examples", "integration", "metrics", "simulation") {
				continue
			}
			for _, path := range p.Deps {
				if isBelow(path, module+"execserver") {
					t.Errorf("%s: %s imports %s", goos, name, path)
				}
			}
		}
	}
}

// TestWeightOfAnEmbedder prints what supervising a host adds to a program:
//
//	go test -v -run TestWeightOfAnEmbedder ./internal/arrows
func TestWeightOfAnEmbedder(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds two programs")
	}
	list(t, "linux") // skips without Go or the modules
	bare, without := build(t, "bare")
	embedder, with := build(t, "embedder")
	var more []string
	for path := range with {
		if !without[path] {
			more = append(more, path)
		}
	}
	slices.Sort(more)
	t.Logf("an actor system alone:   %8d bytes, %2d modules", bare, len(without))
	t.Logf("with a supervised host:  %8d bytes, %2d modules", embedder, len(with))
	t.Logf("more:                    %8d bytes, %2d modules: %s", embedder-bare, len(more), strings.Join(more, " "))
	if embedder-bare > moreBytes {
		t.Errorf("more than %d bytes", moreBytes)
	}
	if len(more) > moreModules {
		t.Errorf("more than %d modules", moreModules)
	}
}

// build builds a program of testdata, stripped and always for the same system so that
// figures can be compared, and returns its size and the modules in it.
func build(t *testing.T, name string) (size int64, modules map[string]bool) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./testdata/"+name)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	modules = make(map[string]bool)
	for _, m := range info.Deps {
		modules[m.Path] = true
	}
	return st.Size(), modules
}
