package registry_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/extensions/install"
	"github.com/hostsup/hostsup/extensions/install/registry"
	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// vsix returns a package of acme.words.
func vsix(t testing.TB, version string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, text := range map[string]string{
		"extension.vsixmanifest": fmt.Sprintf(`<PackageManifest><Metadata><Identity Id="words" Version=%q Publisher="acme"/></Metadata></PackageManifest>`, version),
		"extension/package.json": fmt.Sprintf(`{"name": "words", "publisher": "acme", "version": %q, "engines": {"vscode": "^1.90.0"}}`, version),
	} {
		to, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(to, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// serve serves at the loopback with a handler, and returns the URL of the server.
func serve(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

// get opens a package and returns its version.
func get(ctx context.Context, r *registry.Registry, ref registry.Ref) (string, error) {
	p, err := r.Open(ctx, ref)
	if err != nil {
		return "", err
	}
	return p.Version, p.Close()
}

func TestPackageComesByItsURL(t *testing.T) {
	data := vsix(t, "1.2.0")
	var asked []string
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		switch {
		case strings.HasPrefix(r.URL.Path, "/old/"):
			http.Redirect(w, r, strings.TrimPrefix(r.URL.RequestURI(), "/old"), http.StatusFound)
		case strings.HasSuffix(r.URL.Path, ".sha256"):
			fmt.Fprintf(w, "%x  words.vsix\n", sha256.Sum256(data))
		default:
			_, _ = w.Write(data)
		}
	})
	r := &registry.Registry{URL: base + "/old/{publisher}/{name}/{version}/{target}.vsix?key=secret", Target: "linux-x64"}
	p, err := r.Open(t.Context(), registry.Ref{ID: "acme.words"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if want := base + "/old/acme/words/latest/linux-x64.vsix"; p.Source != want || p.ID != "acme.words" || p.Version != "1.2.0" {
		t.Errorf("got %s %s from %s, want %s", p.ID, p.Version, p.Source, want)
	}
	want := "/old/acme/words/latest/linux-x64.vsix?key=secret /acme/words/latest/linux-x64.vsix?key=secret " +
		"/old/acme/words/latest/linux-x64.vsix.sha256?key=secret /acme/words/latest/linux-x64.vsix.sha256?key=secret"
	if got := strings.Join(asked, " "); got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
	result, err := (&install.Installer{Dir: t.TempDir()}).Install(t.Context(), p)
	if err != nil || result.Version != "1.2.0" || result.Digest != fmt.Sprintf("sha256:%x", sha256.Sum256(data)) {
		t.Errorf("installed %+v, %v", result, err)
	}
}

func TestPackageComesFromAFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "acme.words-1.2.0.vsix"), vsix(t, "1.2.0"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &registry.Registry{URL: "file://" + dir + "/{publisher}.{name}-{version}.vsix"}
	if version, err := get(t.Context(), r, registry.Ref{ID: "acme.words", Version: "1.2.0"}); err != nil || version != "1.2.0" {
		t.Errorf("got %q, %v", version, err)
	}
	if _, err := get(t.Context(), r, registry.Ref{ID: "acme.words", Version: "1.3.0"}); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "acme.words-1.2.0.vsix.sha256"), []byte(strings.Repeat("0", 64)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t.Context(), r, registry.Ref{ID: "acme.words", Version: "1.2.0"}); !errors.Is(err, install.ErrDigest) {
		t.Errorf("another digest: %v", err)
	}
}

func TestWrongAnswersAreErrors(t *testing.T) {
	data := vsix(t, "1.2.0")
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		ref     string
		limit   int64
		want    error
	}{
		"missing":          {http.NotFound, "acme.words", 0, registry.ErrNotFound},
		"broken":           {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 500) }, "acme.words", 0, registry.ErrAnswer},
		"page":             {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "acme.words", 0, install.ErrPackage},
		"too large":        {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }, "acme.words", 100, install.ErrLimit},
		"endless":          {func(w http.ResponseWriter, _ *http.Request) { endless(w) }, "acme.words", 1 << 20, install.ErrLimit},
		"another":          {answer(data, http.StatusNotFound), "acme.swords", 0, registry.ErrAnswer},
		"another version":  {answer(data, http.StatusNotFound), "acme.words@1.1.0", 0, registry.ErrAnswer},
		"no digest":        {answer(data, http.StatusOK), "acme.words", 0, install.ErrDigest},
		"digest not given": {answer(data, http.StatusInternalServerError), "acme.words", 0, registry.ErrAnswer},
		"redirects":        {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) }, "acme.words", 0, registry.ErrAnswer},
		"to another host": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		}, "acme.words", 0, registry.ErrURL},
		"to a file": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, "acme.words", 0, registry.ErrURL},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			fmt.Fprint(w, "x")
		}, "acme.words", 0, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			ref, err := registry.ParseRef(c.ref)
			if err != nil {
				t.Fatal(err)
			}
			r := &registry.Registry{URL: serve(t, c.handler) + "/{publisher}/{name}", Limits: install.Limits{Packed: c.limit}}
			if version, err := get(t.Context(), r, ref); !errors.Is(err, c.want) {
				t.Errorf("got %q, %v, want %v", version, err, c.want)
			}
		})
	}
}

// endless writes until the client is gone.
func endless(w io.Writer) {
	for {
		if _, err := w.Write(make([]byte, 1<<16)); err != nil {
			return
		}
	}
}

// answer answers with data, and for a digest with a status.
func answer(data []byte, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".sha256") {
			w.WriteHeader(status)
			return
		}
		_, _ = w.Write(data)
	}
}

// No redirect leads from https to http, also not at the loopback.
func TestEncryptionIsKept(t *testing.T) {
	plain := serve(t, answer(vsix(t, "1.2.0"), http.StatusNotFound))
	s := httptest.NewTLSServer(http.RedirectHandler(plain, http.StatusFound))
	defer s.Close()
	r := &registry.Registry{URL: s.URL + "/{publisher}/{name}", Transport: s.Client().Transport}
	if version, err := get(t.Context(), r, registry.Ref{ID: "acme.words"}); !errors.Is(err, registry.ErrURL) {
		t.Errorf("got %q, %v", version, err)
	}
}

// The digest is asked for beside the package, also if the URL has an escaped slash.
func TestDigestBesideAnEscapedPath(t *testing.T) {
	data := vsix(t, "1.2.0")
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.EscapedPath() {
		case "/group%2Fproject/acme/words":
			_, _ = w.Write(data)
		case "/group%2Fproject/acme/words.sha256":
			fmt.Fprintf(w, "%064x\n", 7) // of another package
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	r := &registry.Registry{URL: base + "/group%2Fproject/{publisher}/{name}"}
	if version, err := get(t.Context(), r, registry.Ref{ID: "acme.words"}); !errors.Is(err, install.ErrDigest) {
		t.Errorf("got %q, %v", version, err)
	}
}

func TestSilentRegistryTimesOut(t *testing.T) {
	release := make(chan struct{})
	base := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	r := &registry.Registry{URL: base + "/{publisher}/{name}", Timeout: 20 * time.Millisecond}
	if _, err := get(t.Context(), r, registry.Ref{ID: "acme.words"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
}

func TestURLsAreChecked(t *testing.T) {
	for template, good := range map[string]bool{
		"https://{publisher}.example/{name}/{version}?t={target}": true,
		"http://127.0.0.1:8080/{publisher}/{name}":                true,
		"http://[::1]/{publisher}/{name}":                         true,
		"file:///srv/{publisher}.{name}.vsix":                     true,
		"http://example.com/{publisher}/{name}":                   false,
		"http://127.0.0.1.example/{publisher}/{name}":             false,
		"https:///{publisher}/{name}":                             false,
		"ftp://example.com/{publisher}/{name}":                    false,
		"https://example.com/{publisher}":                         false,
		"https://example.com/{publisher}/{name}/{id}":             false,
		"file://elsewhere/{publisher}/{name}":                     false,
		"{publisher}/{name}":                                      false,
		"":                                                        false,
	} {
		if err := registry.Check(template); (err == nil) != good || err != nil && !errors.Is(err, registry.ErrURL) {
			t.Errorf("%q: %v", template, err)
		}
	}
}

func TestRefsAreParsed(t *testing.T) {
	for text, want := range map[string]registry.Ref{
		"acme.words":             {ID: "acme.words"},
		"acme.words@1.2.0-rc.1":  {ID: "acme.words", Version: "1.2.0-rc.1"},
		"acme.@scope/words":      {ID: "acme.@scope/words"},
		"acme.@scope/words@1.0":  {ID: "acme.@scope/words", Version: "1.0"},
		"ms-vscode.cpp.tools@1":  {ID: "ms-vscode.cpp.tools", Version: "1"},
		"acme":                   {},
		"acme.words@":            {},
		"acme.words@../../other": {},
		"acme.words@1..2":        {},
		"a b.words":              {},
		"../x.vsix":              {},
		"":                       {},
	} {
		got, err := registry.ParseRef(text)
		if got != want || (err == nil) != (want.ID != "") || err != nil && !errors.Is(err, registry.ErrRef) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if err == nil && got.String() != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}
