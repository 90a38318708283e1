package control

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Access says who may use a [Server] over a network. A caller needs one of Tokens for
// everything but the page.
type Access struct {
	Tokens  []Token
	Names   []string // names in the URLs of callers, besides localhost and the address that they have reached
	Origins []string // of pages that may call, besides the server's own page: "https://ops.example"
	Page    fs.FS    // what GET / and the paths that are not of the API show; nil: nothing

	// Handler serves who is admitted, in place of the API. nil: the API is served. See
	// [TokenName] and [BeginStream].
	Handler http.Handler
	Open    bool     // no token is needed
	Setting string   // where Names and Origins are set, for messages; default supervisor.console
	Sent    []string // headers that pages of Origins may send besides the usual ones
	Read    []string // headers of responses that they may read
	// MaxConns is how many connections are served at once, at most a quarter of the
	// descriptors; default half of [Options].MaxConns.
	MaxConns int
}

// TokenName returns the name of the token that a request was admitted for, "" if it needed
// none. ctx is the context of the request.
func TokenName(ctx context.Context) string { return callerOf(ctx).token }

// BeginStream makes the response that a Handler of [Access] writes to w one that may last
// for days: it is cut off only when its reader takes nothing for a time.
func BeginStream(w http.ResponseWriter) {
	if t, ok := w.(*timed); ok {
		t.beginStream()
	}
}

// Token is what a caller proves its role with. It holds no secret, only a digest.
type Token struct {
	Name   string
	Role   Role
	digest [sha256.Size]byte
}

// MinToken is the least length of the text of a token.
const MinToken = 32

// NewToken makes a Token of its text. The name is shown in logs.
func NewToken(name string, role Role, text string) (Token, error) {
	switch {
	case role.rank() == 0:
		return Token{}, fmt.Errorf("token %q: %q is not a role", name, role)
	case len(text) < MinToken:
		return Token{}, fmt.Errorf("token %q has %d characters: it needs at least %d", name, len(text), MinToken)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return Token{}, fmt.Errorf("token %q has characters that a header cannot have", name)
	}
	return Token{name, role, sha256.Sum256([]byte(text))}, nil
}

// caller is who makes a request.
type caller struct {
	token string // its name; "" over the control socket
	role  Role
}

// callerKey holds the caller in the context of a request.
type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// admit returns who makes a request on a network. With done, it has responded.
func (a *Access) admit(w http.ResponseWriter, r *http.Request) (c caller, done bool, err error) {
	if err := a.checkHost(r); err != nil {
		return c, false, err
	}
	foreign, err := a.checkOrigin(r)
	if err != nil {
		return c, false, err
	}
	if foreign != "" {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", foreign)
		h.Add("Vary", "Origin")
		if len(a.Read) > 0 {
			h.Set("Access-Control-Expose-Headers", strings.Join(a.Read, ", "))
		}
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
			h.Set("Access-Control-Allow-Headers", strings.Join(append([]string{"Authorization", "Content-Type", "Last-Event-ID"}, a.Sent...), ", "))
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return c, true, nil
		}
	}
	if a.Page != nil && !isAPI(r.URL.Path) {
		return c, true, a.page(w, r)
	}
	c, ok := a.identify(r)
	if !ok && !a.Open {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return c, false, &Error{Class: Unauthorized, Message: "a token of this supervisor is needed: the header Authorization: Bearer TOKEN"}
	}
	return c, false, nil
}

// isAPI reports whether a path is not of the page.
func isAPI(path string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/") || path == metricsPath
}

// metricsPath is where figures are for Prometheus.
const metricsPath = "/metrics"

// identify finds the token of a request. The time that it takes does not depend on the
// tokens.
func (a *Access) identify(r *http.Request) (c caller, ok bool) {
	given := r.Header.Values("Authorization")
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	digest := sha256.Sum256([]byte(strings.TrimSpace(text)))
	for _, t := range a.Tokens {
		if subtle.ConstantTimeCompare(digest[:], t.digest[:]) == 1 {
			c, ok = caller{t.Name, t.Role}, true
		}
	}
	// Of two, what is in between may have looked at the other one.
	return c, ok && len(given) == 1 && strings.EqualFold(scheme, "Bearer")
}

// checkHost returns an error unless the URL of a request names this server. A page of
// another site could otherwise have its own name point here.
func (a *Access) checkHost(r *http.Request) error {
	name := r.Host
	if host, port, err := net.SplitHostPort(name); err == nil {
		if _, err := strconv.ParseUint(cmp.Or(port, "0"), 10, 16); err == nil { // "ADDRESS:1.evil.example" is another name
			name = host
		}
	}
	name = strings.TrimSuffix(strings.ToLower(strings.Trim(name, "[]")), ".")
	if name == "localhost" || slices.ContainsFunc(a.Names, func(n string) bool { return strings.EqualFold(n, name) }) {
		return nil
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if asked, err := netip.ParseAddr(name); err == nil && local != nil {
		if reached, err := netip.ParseAddrPort(local.String()); err == nil && asked.Unmap() == reached.Addr().Unmap().WithZone("") {
			return nil
		}
	}
	return &Error{Class: Forbidden, Message: fmt.Sprintf("%q is not a name of this supervisor: it can be added to %s.names", cut(r.Host), a.setting())}
}

// checkOrigin returns an error for a request that a page of another site makes. foreign
// is the origin if such pages may.
func (a *Access) checkOrigin(r *http.Request) (foreign string, err error) {
	given := r.Header.Values("Origin")
	if len(given) == 0 {
		return "", nil
	}
	own := "http://" + r.Host
	if r.TLS != nil {
		own = "https://" + r.Host
	}
	switch {
	case len(given) == 1 && strings.EqualFold(given[0], own):
		return "", nil
	case len(given) == 1 && slices.Contains(a.Origins, given[0]):
		return given[0], nil
	}
	return "", &Error{Class: Forbidden, Message: fmt.Sprintf("pages of %q may not use this supervisor: the origin can be added to %s.origins", cut(given[0]), a.setting())}
}

func (a *Access) setting() string { return cmp.Or(a.Setting, "supervisor.console") }

// cut bounds what a message repeats of a request.
func cut(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}

// page responds with a file of the page, which may use nothing but this server.
func (a *Access) page(w http.ResponseWriter, r *http.Request) error {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	info, err := fs.Stat(a.Page, name)
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead, errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid), err == nil && !info.Mode().IsRegular():
		return &Error{Class: Unknown, Message: fmt.Sprintf("there is no %s %s", cut(r.Method), cut(r.URL.Path))}
	case err != nil:
		return err
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	http.ServeFileFS(w, r, a.Page, name)
	return nil
}

// plain reports whether a path means what it says: it has no empty, "." and ".."
// segments, except in an escaped name.
func plain(u *url.URL) bool {
	given := u.EscapedPath()
	clean := path.Clean(given)
	return strings.HasPrefix(given, "/") && (given == clean || given == clean+"/")
}
