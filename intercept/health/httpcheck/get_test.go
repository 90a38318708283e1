package httpcheck

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestValidate(t *testing.T) {
	for text, want := range map[string]string{
		"http://127.0.0.1:8080/healthz": "", "https://localhost/x": "",
		"localhost:80": "must begin with", "http:///x": "names no host", "http://a b/": "invalid character", "": "must begin with",
	} {
		if err := (Get{URL: text}).Validate(); fmt.Sprint(err) != "<nil>" && want == "" || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: %v, expected %q", text, err, want)
		}
	}
	if got := (Get{URL: "http://u:secret@h:1/healthz"}).String(); got != "http http://u:xxxxx@h:1/healthz" {
		t.Error(got)
	}
}

// TestProbe asks servers that answer in all kinds of ways.
func TestProbe(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("somebody else was asked") }))
	defer elsewhere.Close()
	t.Setenv("HTTP_PROXY", elsewhere.URL)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string // in the error; "": healthy
	}{
		"ok": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "all ok") }, ""},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(302)
			fmt.Fprint(w, "ok")
		}, ""},
		"another": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "no") }, `does not contain "ok"`},
		"503":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503); fmt.Fprint(w, "ok") }, "status 503"},
		"100 bytes": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "no")
		}, "read the body"},
		"end": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
					return
				}
			}
		}, "does not contain"},
		"header": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) }, "header"},
		"hang":   {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "deadline"},
	} {
		s := httptest.NewServer(c.answer)
		wait := time.Minute
		if name == "hang" {
			wait = 50 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		err := Get{URL: s.URL, Expect: "ok"}.Probe(ctx)
		cancel()
		if c.want == "" && err != nil || c.want != "" && !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, expected %q", name, err, c.want)
		}
		s.Close()
	}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = nil
	s.StartTLS()
	defer s.Close()
	var unknown *tls.CertificateVerificationError
	if err := (Get{URL: s.URL}).Probe(t.Context()); !errors.As(err, &unknown) {
		t.Errorf("a certificate of an unknown authority: %v", err)
	}
}
