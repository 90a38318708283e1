package control_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
)

// way is one of the doors of a server.
type way struct {
	network, address, name, token string
}

// Whatever is wrong with a request, at either door: it is refused with a class, changes
// nothing, and the answer has nothing in it that the caller did not know.
func TestHostileRequestsAreRefused(t *testing.T) {
	document, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	all, err := controltest.Hostiles(document, "ts", 1<<16)
	if err != nil || len(all) < 1000 {
		t.Fatalf("%d requests, %v", len(all), err)
	}
	var changed atomic.Bool
	opt := control.Options{MaxBody: 1 << 16, Configuration: changing(func(string) { changed.Store(true) })}
	socket := controltest.Serve(t, noted(&changed), opt)
	addr := console(t, noted(&changed), opt, control.Access{})
	full := secretOf(control.RoleFull)
	for _, at := range []way{{"unix", socket, "hostsup", ""}, {"tcp", addr, addr, full}} {
		for _, h := range all {
			refused(t, at, h.Operation+", "+h.Name, h.Raw(at.name, at.token), func(class control.Class) bool {
				return class != control.Unauthorized && class != control.Forbidden && (class == control.TooLarge) == (h.Name == "body: too much")
			}, full, filepath.Dir(socket))
			if changed.Swap(false) {
				t.Errorf("%s: %s, %s changed something", at.network, h.Operation, h.Name)
			}
		}
		for _, bytes := range controltest.Malformed() {
			got, err := controltest.Send(at.network, at.address, bytes, true)
			if err != nil || got != nil && got.Status < 400 || changed.Swap(false) {
				t.Errorf("%s: %.100q: %+v, %v", at.network, bytes, got, err)
			}
		}
	}
}

// Without one token that holds, and with a wrong name or origin, no operation does anything,
// and all are answered alike.
func TestStrangersAreRefused(t *testing.T) {
	var doc struct{ Paths map[string]map[string]any }
	text, err := os.ReadFile("openapi.json")
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	var changed atomic.Bool
	addr := console(t, noted(&changed), control.Options{Configuration: changing(func(string) { changed.Store(true) })}, control.Access{})
	full := secretOf(control.RoleFull)
	bearer := "Authorization: Bearer " + full + "\r\n"
	for name, row := range map[string]struct {
		host, header string
		class        control.Class
	}{
		"no token":           {addr, "", control.Unauthorized},
		"an empty one":       {addr, "Authorization: Bearer \r\n", control.Unauthorized},
		"no scheme":          {addr, "Authorization: " + full + "\r\n", control.Unauthorized},
		"a wrong one":        {addr, "Authorization: Bearer " + full + "x\r\n", control.Unauthorized},
		"a beginning":        {addr, "Authorization: Bearer " + full[:len(full)-1] + "\r\n", control.Unauthorized},
		"in capitals":        {addr, "Authorization: Bearer " + strings.ToUpper(full) + "\r\n", control.Unauthorized},
		"a wrong and right":  {addr, "Authorization: Bearer wrong\r\n" + bearer, control.Unauthorized},
		"a right and wrong":  {addr, bearer + "Authorization: Bearer wrong\r\n", control.Unauthorized},
		"twice":              {addr, bearer + bearer, control.Unauthorized},
		"two in one":         {addr, "Authorization: Bearer " + full + ", Bearer " + full + "\r\n", control.Unauthorized},
		"in a cookie":        {addr, "Cookie: token=" + full + "\r\n", control.Unauthorized},
		"for a proxy":        {addr, "Proxy-Authorization: Bearer " + full + "\r\n", control.Unauthorized},
		"another origin":     {addr, bearer + "Origin: https://evil.example\r\n", control.Forbidden},
		"two origins":        {addr, bearer + "Origin: http://" + addr + "\r\nOrigin: https://evil.example\r\n", control.Forbidden},
		"no origin's origin": {addr, bearer + "Origin: null\r\n", control.Forbidden},
		"another name":       {"evil.example", bearer, control.Forbidden},
		"a name before it":   {addr + ".evil.example", bearer, control.Forbidden},
		"forwarded":          {"evil.example", bearer + "X-Forwarded-Host: " + addr + "\r\n", control.Forbidden},
	} {
		for path, ops := range doc.Paths {
			for method := range ops {
				h := controltest.Hostile{
					Method: strings.ToUpper(method), Target: strings.NewReplacer("{host}", "ts", "{id}", "golang.go", "{verb}", "enable").Replace(path), Header: row.header, Body: `{"method":"m"}`,
				}
				refused(t, way{"tcp", addr, "", ""}, path+" with "+name, h.Raw(row.host, ""), func(c control.Class) bool { return c == row.class }, full)
				if changed.Swap(false) {
					t.Errorf("%s with %s changed something", path, name)
				}
			}
		}
	}
}

// refused sends a request, which has to be refused with a class that is right, and whose
// answer has none of the secrets in it.
func refused(t *testing.T, at way, what, request string, right func(control.Class) bool, secrets ...string) {
	t.Helper()
	got, err := controltest.Send(at.network, at.address, request, false)
	if err != nil || got == nil {
		t.Errorf("%s: %s: no answer, %v", at.network, what, err)
		return
	}
	text := got.Body
	var told struct{ Error control.Error }
	err = json.Unmarshal(text, &told)
	if e := told.Error; err != nil || got.Status < 400 || got.Status >= 500 || e.Class == "" || e.Message == "" || e.Class == control.Internal || !right(e.Class) || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: %s: %d %.300s", at.network, what, got.Status, text)
	}
	if len(text) > 8<<10 {
		t.Errorf("%s: %s: an answer of %d bytes", at.network, what, len(text))
	}
	for _, s := range secrets {
		if bytes.Contains(text, []byte(s)) {
			t.Errorf("%s: %s: the answer has %s in it: %.300s", at.network, what, s, text)
		}
	}
}

// FuzzRequest serves any request without a network, by either door: it is answered, and with
// a class if it is refused.
func FuzzRequest(f *testing.F) {
	document, err := os.ReadFile("openapi.json")
	if err != nil {
		f.Fatal(err)
	}
	all, err := controltest.Hostiles(document, "ts", 1<<14)
	if err != nil {
		f.Fatal(err)
	}
	token := secretOf(control.RoleFull)
	for i, h := range all {
		if i%20 == 0 && len(h.Body) < 1<<15 {
			f.Add([]byte(h.Raw("localhost", token)))
		}
	}
	f.Add([]byte("POST /v1/hosts/ts/call HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\nContent-Length: 36\r\n\r\n" + `{"method":"m","params":{"a":[null]}}`))
	know, err := control.NewToken("full", control.RoleFull, token)
	if err != nil {
		f.Fatal(err)
	}
	var changed atomic.Bool
	f.Fuzz(func(t *testing.T, raw []byte) {
		srv := control.NewServer(noted(&changed), control.Options{MaxBody: 1 << 16, Configuration: changing(func(string) {})})
		for _, h := range []http.Handler{srv.Handler(nil), srv.Handler(&control.Access{Tokens: []control.Token{know}})} {
			r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
			if err != nil {
				return // the library refuses it
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r.WithContext(t.Context()))
			if w.Code == http.StatusOK || w.Code == http.StatusMovedPermanently || r.Method == http.MethodHead {
				continue
			}
			class := classIn(t, w.Body.Bytes())
			if class == "" || class == control.Internal && !strings.HasSuffix(r.URL.Path, "/attach") { // which needs a connection
				t.Errorf("%q: %d %s", raw, w.Code, w.Body)
			}
		}
		if err := srv.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
