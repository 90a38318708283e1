package mcphttp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

const (
	// A server that cannot be reached is tried again after the first of these, twice that
	// and so on, up to the last.
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Second
	// maxReason is how much of a response is read that is no answer.
	maxReason = 64 << 10
	// accepted bounds the wait until the server has taken a message that has no answer.
	accepted = 30 * time.Second
)

// fatal is an error that ends Connect: all requests would fail.
type fatal struct{ error }

func (e *fatal) Unwrap() error { return e.error }

// errSession means that the server does not know the session any more.
var errSession = errors.New("the server does not know the session any more: it has ended it, or was started again")

func (r *Remote) transport() *http.Transport {
	secure := r.TLS.Clone() // nil for nil
	if secure == nil {
		secure = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	secure.GetClientCertificate = r.showCertificate
	return &http.Transport{
		Proxy:       http.ProxyFromEnvironment,
		DialContext: (&net.Dialer{Timeout: r.ConnectTimeout}).DialContext,
		// Compressed events are held back by some servers, and a bound of what is sent
		// would not be one of what is read.
		DisableCompression:  true,
		TLSClientConfig:     secure,
		TLSHandshakeTimeout: r.ConnectTimeout,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second},
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     90 * time.Second,
	}
}

// redirectError means that the server sends requests to where they are not sent.
type redirectError struct{ text string }

func (e *redirectError) Error() string { return e.text }

// redirect lets requests be sent elsewhere on the same server only: the token is for that.
func (r *Remote) redirect(req *http.Request, via []*http.Request) error {
	switch {
	case req.URL.Scheme != r.URL.Scheme || !strings.EqualFold(req.URL.Host, r.URL.Host):
		return &redirectError{fmt.Sprintf("the server redirects to another one, %s://%s: if you trust that, name it in the url", req.URL.Scheme, req.URL.Host)}
	case req.Method != via[0].Method:
		return &redirectError{fmt.Sprintf("the server redirects a %s to %s, where it would become a %s: name that in the url", via[0].Method, req.URL.Path, req.Method)}
	case len(via) > 3:
		return &redirectError{"the server redirects in circles"}
	}
	return nil
}

// newRequest returns a request with the headers of MCP. m is the message that it carries,
// nil for none.
func (r *Remote) newRequest(ctx context.Context, method string, m *message) (*http.Request, error) {
	var body io.Reader
	if m != nil {
		body = bytes.NewReader(m.text)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.URL.String(), body)
	if err != nil {
		return nil, err
	}
	for name, values := range r.Headers {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("User-Agent", "hostsup")
	req.Header.Set("Accept", typeEvents)
	if m != nil {
		req.Header.Set("Content-Type", typeJSON)
		req.Header.Set("Accept", typeJSON+", "+typeEvents)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if m != nil && m.method == methodInitialize {
		return req, nil
	}
	version := r.version
	if m != nil && m.kind == codec.Request {
		if own := revisionOf(*m); own != "" {
			version = own
		}
	}
	if version != "" {
		req.Header.Set(headerVersion, version)
	}
	if version >= sessionless {
		if m != nil {
			r.mirror(req.Header, *m)
		}
	} else if r.session != "" {
		req.Header.Set(headerSession, r.session)
	}
	return req, nil
}

// mirror sets the headers that repeat parts of a message without a session. Under the lock.
func (r *Remote) mirror(h http.Header, m message) {
	h.Set(headerMethod, m.method)
	if param := named[m.method]; param != "" {
		h.Set(headerName, headerText(jsonwalk.Text(jsonwalk.Find(m.text, "params."+param))))
	}
	if m.method == "tools/call" {
		r.tools.mirror(h, m.text)
	}
}

// headerText returns text as the value of a header: as it is, or in base64 where a header
// cannot carry it.
func headerText(text string) string {
	plain := text != "" && strings.TrimSpace(text) == text && !strings.HasPrefix(text, base64Prefix)
	for i := 0; i < len(text) && plain; i++ {
		plain = text[i] >= ' ' && text[i] <= '~'
	}
	if plain {
		return text
	}
	return base64Prefix + base64.StdEncoding.EncodeToString([]byte(text)) + base64Suffix
}

// do makes a request of HTTP. A server that cannot be reached is tried again for a time. m
// is the message that it carries, nil for none, and wrote, unless nil, is called when that
// was sent. If again is set, the request may be made again although the server has got it.
func (r *Remote) do(ctx context.Context, method string, m *message, again bool, edit func(http.Header), wrote func()) (*http.Response, error) {
	until := time.Now().Add(r.ConnectTimeout)
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		var got atomic.Bool
		req, err := r.newRequest(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			WroteHeaders: func() { got.Store(true) },
			WroteRequest: func(info httptrace.WroteRequestInfo) {
				if info.Err == nil && wrote != nil {
					wrote()
				}
			},
		}), method, m)
		if err != nil {
			return nil, &fatal{err}
		}
		if edit != nil {
			edit(req.Header)
		}
		res, err := r.client.Do(req)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil && again && time.Now().Before(until) && isBusy(res.StatusCode):
			err = errors.New(res.Status)
			_ = res.Body.Close()
		case err == nil:
			return res, nil
		case got.Load() && !again && r.alert(err) == nil: // a server that refuses the certificate reads no request
			return nil, fmt.Errorf("the connection to %s was lost before the answer, so it is not known whether the request was carried out: %w", r.URL.Host, bare(err))
		case !r.passes(err) || time.Now().After(until):
			return nil, r.unreachable(err)
		}
		if wait == firstRetry {
			r.Log(fmt.Sprintf("%s does not answer: %v; trying again for %s", r.URL.Host, bare(err), r.ConnectTimeout))
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// isBusy reports whether a status is that of a server that is being started.
func isBusy(status int) bool {
	return status >= http.StatusBadGateway && status <= http.StatusGatewayTimeout
}

// bare returns err without the method and the URL, which package http has added.
func bare(err error) error {
	var with *url.Error
	if errors.As(err, &with) {
		return with.Err
	}
	return err
}

// passes reports whether an error may pass by itself.
func (r *Remote) passes(err error) bool {
	var elsewhere *redirectError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var name *net.DNSError
	return !errors.As(err, &elsewhere) && !errors.As(err, &certificate) && !errors.As(err, &record) && r.alert(err) == nil &&
		!(errors.As(err, &name) && name.IsNotFound) && !strings.Contains(err.Error(), notTLS)
}

// notTLS is in the error of package http for which there is no type.
const notTLS = "server gave HTTP response to HTTPS client"

// alert returns what a server has against the certificate that it was shown, or that it was
// shown none; nil if the error is another one. The type of these errors is not exported.
func (r *Remote) alert(err error) error {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return nil
	}
	text := op.Err.Error()
	if strings.Contains(text, "certificate") || r.asked.Load() && strings.Contains(text, "handshake failure") { // TLS 1.2
		return op.Err
	}
	return nil
}

// showCertificate returns the certificate for a server that asks for one. A server gets it also
// if it names other authorities, and says then what is wrong with it.
func (r *Remote) showCertificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	r.asked.Store(true)
	if r.TLS == nil || len(r.TLS.Certificates) == 0 {
		return new(tls.Certificate), nil // none
	}
	return &r.TLS.Certificates[0], nil
}

// certificateFault says what is wrong with the certificate that was shown, and where it is set.
func (r *Remote) certificateFault(alert error) string {
	if r.TLS == nil || len(r.TLS.Certificates) == 0 {
		return fmt.Sprintf("%s asks for a certificate of this side: name a file with it, and one with its key, as remote.cert and remote.key of the host or by --cert and --key (%v)", r.URL.Host, alert)
	}
	var why string
	switch text := alert.Error(); {
	case strings.Contains(text, "authority"):
		why = "it is signed by an authority that the server does not trust"
	case strings.Contains(text, "expired"):
		why = "it has expired, or is not valid yet"
	default:
		why = strings.TrimPrefix(text, "tls: ")
	}
	return fmt.Sprintf("%s refuses the certificate that remote.cert of the host (or --cert) names: %s", r.URL.Host, why)
}

// unreachable returns the error for a server that cannot be reached, in words that say what
// to do.
func (r *Remote) unreachable(err error) error {
	var elsewhere *redirectError
	var name *net.DNSError
	var unknown x509.UnknownAuthorityError
	var system x509.SystemRootsError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var timeout net.Error
	at := r.URL.Host
	var text string
	switch {
	case r.alert(err) != nil:
		text = r.certificateFault(r.alert(err))
	case errors.As(err, &elsewhere):
		text = at + ": " + elsewhere.text
	case errors.As(err, &name) && name.IsNotFound:
		text = fmt.Sprintf("there is no machine named %s: correct the url", name.Name)
	case errors.As(err, &unknown), errors.As(err, &system):
		text = fmt.Sprintf("the certificate of %s is signed by an authority that is not trusted here: name a file with that authority, as remote.ca of the host or by --ca", at)
	case errors.As(err, &certificate):
		text = fmt.Sprintf("the certificate of %s is not valid: %v", at, certificate.Err)
	case errors.As(err, &record), strings.Contains(err.Error(), notTLS):
		text = fmt.Sprintf("%s does not speak TLS: should the url begin with http://?", at)
	case errors.Is(err, syscall.ECONNREFUSED):
		text = fmt.Sprintf("no server listens at %s (connection refused), for %s", at, r.ConnectTimeout)
	case errors.As(err, &timeout) && timeout.Timeout():
		text = fmt.Sprintf("%s does not accept a connection within %s", at, r.ConnectTimeout)
	default:
		text = fmt.Sprintf("%s cannot be reached: %v", at, bare(err))
	}
	return &fatal{&reached{text, err}}
}

// reached is an error in words for people.
type reached struct {
	text string
	err  error
}

func (e *reached) Error() string { return e.text }
func (e *reached) Unwrap() error { return e.err }

// tell hands a message on that has no answer. It returns when the server has taken it.
func (r *Remote) tell(m message) error {
	ctx, cancel := context.WithTimeout(r.ctx, accepted)
	defer cancel()
	res, err := r.do(ctx, http.MethodPost, &m, false, nil, nil)
	if err == nil {
		defer func() { _ = res.Body.Close() }() // only read
		if res.StatusCode/100 == 2 {
			return nil
		}
		_, err = r.refused(res, nil)
	} else if ctx.Err() != nil {
		err = fmt.Errorf("%s has not taken it within %s", r.URL.Host, accepted)
	}
	return fmt.Errorf("%s was not delivered: %w", cmp.Or(m.method, "an answer"), err)
}

// call makes a request and hands on what the server answers. The error is that of the request.
func (r *Remote) call(ctx context.Context, c *call, wrote func()) error {
	opens := c.method == methodInitialize || c.method == "server/discover"
	res, err := r.do(ctx, http.MethodPost, &c.message, opens, nil, wrote)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // only read
	if res.StatusCode != http.StatusOK {
		answer, err := r.refused(res, c)
		if err == nil {
			r.settle(c.id, answer)
		}
		return err
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch kind {
	case typeJSON:
		body, err := io.ReadAll(io.LimitReader(res.Body, int64(r.MaxMessage)+1))
		switch {
		case err != nil:
			return fmt.Errorf("the answer of %s was cut off: %w", r.URL.Host, err)
		case len(body) > r.MaxMessage:
			return r.tooLarge()
		}
		r.begun(c, res, body)
		if err := r.deliver(c, body); err != nil {
			return err
		}
		if r.isOpen(c) {
			return fmt.Errorf("%s has sent JSON without an answer to the request", r.URL.Host)
		}
		return nil
	case typeEvents:
		return r.stream(ctx, c, res)
	}
	return fmt.Errorf("%s answers with Content-Type %q, and neither with %s nor with %s: is the url that of an MCP server?", r.URL.Host, cut(res.Header.Get("Content-Type")), typeJSON, typeEvents)
}

func (r *Remote) tooLarge() error {
	return fmt.Errorf("the answer of %s is larger than %d bytes, the limit (messages.max_size of the host, or --max-message)", r.URL.Host, r.MaxMessage)
}

// begun notes what the answer to initialize says of the session.
func (r *Remote) begun(c *call, res *http.Response, answer []byte) {
	if c == nil || c.method != methodInitialize {
		return
	}
	version := jsonwalk.Text(jsonwalk.Find(answer, "result.protocolVersion"))
	if version == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session, r.version = res.Header.Get(headerSession), version
}

// lostSession matches what servers say of a session that they do not know, where they do not
// use the status 404.
var lostSession = regexp.MustCompile(`(?i)session|not initialized`)

// refused returns what a response that is no success says: an error of JSON-RPC that is the
// answer to the request c, or an error. c is nil for messages that have no answer.
func (r *Remote) refused(res *http.Response, c *call) (answer []byte, err error) {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxReason)) // what there is of it has to do
	reason := jsonwalk.Member(body, "error")
	valid := json.Valid(body) && len(reason) > 0 && reason[0] == '{'
	text := ""
	if valid {
		text = jsonwalk.Text(jsonwalk.Member(reason, "message"))
	} else if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "text/plain" || kind == typeJSON {
		text, _, _ = strings.Cut(strings.TrimSpace(string(body)), "\n")
	}
	said := res.Status
	if text != "" {
		said += ": " + cut(text)
	}
	inSession := res.Request.Header.Get(headerSession) != ""
	unrelated := !valid || string(jsonwalk.Member(body, "id")) == "null" || jsonwalk.Member(body, "id") == nil
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		return nil, &fatal{fmt.Errorf("%s %s: %s", r.URL.Host, r.tokenFault(), said)}
	case inSession && (res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusBadRequest && unrelated && lostSession.MatchString(text)):
		return nil, &fatal{fmt.Errorf("%s: %w (%s)", r.URL.Host, errSession, said)}
	case valid && c != nil:
		var out bytes.Buffer
		out.WriteString(`{"jsonrpc":"2.0","id":` + c.id + `,"error":`)
		_ = json.Compact(&out, reason) // it is valid
		out.WriteByte('}')
		return out.Bytes(), nil
	}
	return nil, fmt.Errorf("%s: %s", r.URL.Host, said)
}

// tokenFault says what is wrong with the token, and where it is set.
func (r *Remote) tokenFault() string {
	const where = "remote.token of the host (or HOSTSUP_CONNECT_TOKEN)"
	if len(r.Headers) == 0 {
		return "needs a token, which " + where + " sets"
	}
	return "refuses the token, which " + where + " sets"
}
