package inspector

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/hostsup/hostsup/internal/sys/procnet"
)

// Address is the address of a process's inspector.
type Address struct {
	PID   int
	Port  netip.AddrPort
	ID    string // part of the URL; connections without it are refused
	Apart bool   // the port is in another network namespace
}

// URL returns the URL that a debugger connects to.
func (a Address) URL() string { return "ws://" + a.Port.String() + "/" + a.ID }

// DevTools returns the URL that Chrome opens when it is typed into its address bar.
func (a Address) DevTools() string {
	return "devtools://devtools/bundled/js_app.html?experiments=true&v8only=true&ws=" + a.Port.String() + "/" + a.ID
}

// Dial connects to the inspector; ctx bounds only the connecting. Errors: [ErrGone],
// ctx's.
func (a Address) Dial(ctx context.Context) (*Session, error) {
	s, err := dial(ctx, a.URL(), a.connect)
	if err == nil {
		s.pid = a.PID
	}
	return s, err
}

func (a Address) connect(ctx context.Context, _, _ string) (net.Conn, error) {
	return procnet.DialIn(ctx, a.PID, a.Port)
}

// Lines that node writes to its standard error.
const (
	listeningPrefix = "Debugger listening on ws://"
	failedPrefix    = "Starting inspector on "
)

// announced parses a line in which a process announces its port.
func announced(line string) (port uint16, id string, ok bool) {
	rest, ok := strings.CutPrefix(line, listeningPrefix)
	if !ok {
		return 0, "", false
	}
	host, id, ok := strings.Cut(strings.TrimSpace(rest), "/")
	i := strings.LastIndexByte(host, ':')
	if !ok || i < 0 || !isID(id) {
		return 0, "", false
	}
	n, err := strconv.ParseUint(host[i+1:], 10, 16)
	return uint16(n), id, err == nil
}

// isID reports whether a text is an id as node makes them: hex digits and dashes.
func isID(id string) bool {
	return len(id) >= 16 && len(id) <= 64 && strings.Trim(id, "0123456789abcdefABCDEF-") == ""
}

// at returns the address of a port, in a form to connect to; false if the process does
// not listen at that port.
func at(pid int, port uint16, id string) (Address, bool) {
	list, err := procnet.Listening(pid)
	if err != nil {
		return Address{}, false
	}
	for _, l := range list {
		if l.Port() != port {
			continue
		}
		ip := l.Addr()
		if ip.IsUnspecified() {
			if ip = netip.AddrFrom4([4]byte{127, 0, 0, 1}); l.Addr().Is6() {
				ip = netip.IPv6Loopback()
			}
		}
		same, err := procnet.SameNetwork(pid)
		return Address{PID: pid, Port: netip.AddrPortFrom(ip, port), ID: id, Apart: !same}, err == nil
	}
	return Address{}, false
}

// askWithin bounds the request that asks a port for its target.
const askWithin = 500 * time.Millisecond

// published looks for an inspector among the ports at which a process listens. Node
// answers there unless it was started with --inspect-publish-uid=stderr.
func published(ctx context.Context, pid int) (Address, bool) {
	list, err := procnet.Listening(pid)
	if err != nil {
		return Address{}, false
	}
	for _, l := range list {
		a, ok := at(pid, l.Port(), "")
		if !ok {
			continue
		}
		if a.ID, err = a.ask(ctx); err == nil {
			return a, true
		}
	}
	return Address{}, false
}

// ask requests the id of a port's only target.
func (a Address) ask(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	transport := &http.Transport{DialContext: a.connect, DisableCompression: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.Port.String()+"/json/list", nil)
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }() // it was read only
	var targets []struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(&targets); err != nil {
		return "", fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	for _, t := range targets {
		if t.Type == "node" && isID(t.ID) {
			return t.ID, nil
		}
	}
	return "", fmt.Errorf("%w: no target", ErrProtocol)
}
