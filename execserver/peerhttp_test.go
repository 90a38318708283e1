//go:build unix

package execserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"
)

func peerHTTP(t *testing.T, c *Client) {
	var want strings.Builder
	for i := range 200 {
		fmt.Fprintf(&want, "%d:%s\n", i, strings.Repeat("x", 20_000))
	}
	more := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what there is
		w.Header().Set("X-Got", fmt.Sprintf("%s %s %s %q %d", r.Method, r.URL.RawQuery, r.Host, r.Header["X-Two"], len(body)))
		w.WriteHeader(404)
		for line := range strings.Lines(want.String()) {
			fmt.Fprint(w, line)
		}
	})
	mux.HandleFunc("/from", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "who", Value: "me"})
		http.Redirect(w, r, "/to", http.StatusFound)
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		who, _ := r.Cookie("who") // an empty one otherwise
		fmt.Fprintf(w, "%v after %s", who, r.Referer())
	})
	mux.HandleFunc("/auth", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header["Authorization"], r.RequestURI)
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		for _, step := range []string{"one ", "two ", "three "} {
			fmt.Fprint(w, step)
			_ = http.NewResponseController(w).Flush() // the client may be gone
			select {
			case <-more:
			case <-r.Context().Done():
				return
			}
		}
	})
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "half")
		_ = http.NewResponseController(w).Flush() // what follows is the end
		panic(http.ErrAbortHandler)
	})
	site := httptest.NewServer(mux)
	defer site.Close()
	defer close(more) // servers without http/cancel still wait for the rest
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &web{t: t, url: site.URL, client: &http.Client{Transport: c.RoundTripper(), Jar: jar}}

	status, header, body, err := w.ask("POST", "/echo?a=b%20c", make([]byte, 9<<20))
	is(t, status+" "+header.Get("X-Got"), fmt.Sprintf(`404 Not Found POST a=b%%20c %s ["a" "b"] %d`, strings.TrimPrefix(site.URL, "http://"), 9<<20))
	if err != nil || body != want.String() {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	if status, _, body, err := w.ask("HEAD", "/to", nil); status != "200 OK" || body != "" || err != nil {
		t.Errorf("%s %q %v", status, body, err)
	}
	if _, _, body, err := w.ask("GET", "/from", nil); body != "who=me after "+site.URL+"/from" || err != nil {
		t.Errorf("%q %v", body, err)
	}
	if _, _, body, err := w.ask("GET", "/broken", nil); body != "half" || err == nil {
		t.Errorf("%q %v", body, err)
	}
	w.url = strings.Replace(site.URL, "//", "//u:p@", 1)
	if _, _, body, err := w.ask("GET", "/auth#part", nil); body != "[Basic dTpw]/auth" || err != nil {
		t.Errorf("%q %v", body, err)
	}
	w.url = "ftp://x"
	if _, _, _, err := w.ask("GET", "/", nil); !errors.Is(err, ErrBadParams) {
		t.Error(err)
	}
	w.url = "http://127.0.0.1:1"
	if _, _, _, err := w.ask("GET", "/", nil); !errors.As(err, new(*RequestError)) {
		t.Error(err)
	}
	if _, _, _, err := w.ask("POST", "/", make([]byte, maxRequestBody+1)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	w.url = site.URL

	// The body comes while it is read, and ends with the context.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", site.URL+"/slow", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, step := range []string{"one ", "two "} {
		got := make([]byte, len(step))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != step {
			t.Errorf("%q %v", got, err)
		}
		more <- struct{}{}
	}
	cancel()
	if _, err = io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// web is a site that is asked through the client.
type web struct {
	t      *testing.T
	url    string
	client *http.Client
}

// ask makes a request and reads the answer. An error may come with a part of it.
func (w *web) ask(method, path string, send []byte) (status string, header http.Header, body string, err error) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, bytes.NewReader(send))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header["X-Two"] = []string{"a", "b"}
	resp, err := w.client.Do(req)
	if err != nil {
		return "", nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.Status, resp.Header, string(b), err
}
