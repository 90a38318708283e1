//go:build linux

package conformance

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
)

// NewWeb is a server on loopback for what http/request asks for. It has:
//
//	/echo        the request: method, path, headers in the order of their names, body
//	/status/N    an answer of that status
//	/redirect/N  a redirect of that status to /echo
//	/loop        a redirect to itself
//	/headers     repeated and odd headers
//	/stream      three parts
//	/big         3 MiB
//	/gzip        a packed body
//	/abort       half a body, and a cut
//	/never       nothing at all
//	/pause       a header, and no body ever
func NewWeb() *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", echo)
	mux.HandleFunc("/status/{status}", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(number(r.PathValue("status")))
	})
	mux.HandleFunc("/redirect/{status}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/echo")
		w.WriteHeader(number(r.PathValue("status")))
		_, _ = io.WriteString(w, "moved")
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/loop")
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/headers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["X-Twice"] = []string{"1", "2"}
		w.Header()["X-Empty"] = []string{""}
		w.Header()["X-Latin"] = []string{"caf\xe9"}
		w.Header()["X-Utf8"] = []string{"café"}
	})
	mux.HandleFunc("/stream", func(w http.ResponseWriter, _ *http.Request) {
		for i := range 3 {
			fmt.Fprintf(w, "part%d\n", i)
			_ = http.NewResponseController(w).Flush()
		}
	})
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) {
		for range 48 {
			_, _ = io.WriteString(w, strings.Repeat("z", 64<<10))
		}
	})
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, "packed")
		z.Close()
	})
	mux.HandleFunc("/abort", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/never", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/pause", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	return httptest.NewServer(mux)
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return http.StatusNotFound
	}
	return n
}

func echo(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s %s %s\n", r.Method, r.URL.RequestURI(), r.Host)
	var lines []string
	for name, values := range r.Header {
		for _, v := range values {
			lines = append(lines, name+": "+v)
		}
	}
	slices.Sort(lines)
	fmt.Fprintln(w, strings.Join(lines, "\n"))
	if r.ContentLength != 0 {
		fmt.Fprintf(w, "length %d\n", r.ContentLength)
	}
	_, _ = io.Copy(w, r.Body)
}
