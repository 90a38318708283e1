package netproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/sandbox/allow"
)

// Protocol is the protocol by which a client made a request.
type Protocol string

// The protocols of clients.
const (
	Connect  Protocol = "connect" // HTTP CONNECT
	HTTP     Protocol = "http"    // an HTTP request in absolute form
	SOCKS5   Protocol = "socks5"
	Forwards Protocol = "forward" // a connection to a listener of Proxy.Forward
	Direct   Protocol = "direct"  // Proxy.Connect
)

// Attempt is one attempt to connect through a [Proxy].
type Attempt struct {
	Time     time.Time      `json:"time"`
	Protocol Protocol       `json:"protocol,omitempty"` // "" if the attempt failed before it was known
	Host     string         `json:"host,omitempty"`     // a name in lower case or an address; "" if not known
	Port     uint16         `json:"port,omitempty"`     // 0 if not known
	Addr     netip.AddrPort `json:"addr,omitzero"`      // the connected address; zero without a connection
	Allowed  bool           `json:"allowed"`            // by the list and the check of the address
	Reason   string         `json:"reason,omitempty"`   // why it was refused or failed; "" if it is connected
	Entry    string         `json:"entry,omitempty"`    // the entry that would allow it; "" if it is allowed, or no entry would
}

// refusal is the reason of a failed attempt, with the answer of each protocol.
type refusal struct {
	status int  // HTTP
	reply  byte // SOCKS5
	reason string
}

// SOCKS5 replies.
const (
	replyOK          = 0
	replyFailed      = 1
	replyNotAllowed  = 2
	replyNetwork     = 3
	replyHost        = 4
	replyRefused     = 5
	replyTimeout     = 6
	replyCommand     = 7
	replyAddressType = 8
)

// connect checks the target, resolves it, checks the addresses, dials the first that
// answers, and logs the attempt.
func (p *Proxy) connect(ctx context.Context, proto Protocol, t allow.Target) (net.Conn, *refusal) {
	at := Attempt{Time: time.Now(), Protocol: proto, Host: t.Host(), Port: t.Port}
	c, r := p.reach(ctx, t, &at)
	if r != nil {
		at.Reason = r.reason
	}
	p.log(at)
	return c, r
}

func (p *Proxy) reach(ctx context.Context, t allow.Target, at *Attempt) (net.Conn, *refusal) {
	if !p.rules.Permits(t) {
		at.Entry = t.String()
		return nil, &refusal{403, replyNotAllowed, "not in the allow list"}
	}
	ctx, cancel := context.WithTimeout(ctx, p.DialTimeout)
	defer cancel()
	addrs, err := p.resolve(ctx, t)
	if err != nil {
		at.Allowed = true
		return nil, &refusal{502, replyHost, "cannot resolve: " + lookupReason(err)}
	}
	good, bad := p.check(addrs, t)
	if len(good) == 0 {
		if e := allow.HostPort(addrs[0].String(), t.Port); allow.Valid(e) {
			at.Entry = e
		}
		return nil, &refusal{403, replyNotAllowed, bad}
	}
	at.Allowed = true
	c, addr, err := p.dial(ctx, good, t.Port)
	if err != nil {
		return nil, dialRefusal(err)
	}
	at.Addr = addr
	return c, nil
}

// resolve looks up the addresses of a name. It never looks up localhost.
func (p *Proxy) resolve(ctx context.Context, t allow.Target) ([]netip.Addr, error) {
	if t.Addr.IsValid() {
		return []netip.Addr{t.Addr}, nil
	}
	if t.Name == allow.Localhost {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	// The dot at the end keeps the resolver from appending the machine's search
	// domains, where others may own the name.
	addrs, err := p.Lookup(ctx, "ip", t.Name+".")
	if err == nil && len(addrs) == 0 {
		err = errors.New("no addresses")
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, err
}

// check returns the addresses that may be dialled; bad is the reason why the first
// of the others may not.
func (p *Proxy) check(addrs []netip.Addr, t allow.Target) (good []netip.Addr, bad string) {
	var own []netip.Addr
	asked := false
	for _, a := range addrs {
		if p.rules.Names(a, t.Port) {
			good = append(good, a)
			continue
		}
		what := allow.Class(a)
		if what == "" {
			if !asked {
				var err error
				if own, err = p.Own(); err != nil {
					return nil, "cannot list this machine's own addresses: " + err.Error()
				}
				asked = true
			}
			if slices.Contains(own, a) {
				what = "this machine's own"
			}
		}
		if what == "" {
			good = append(good, a)
		} else if bad == "" {
			bad = fmt.Sprintf("%s, %s: only an entry with that address allows it", a, article(what))
			if t.Name != "" {
				bad = "resolves to " + bad
			}
		}
	}
	return good, bad
}

func article(class string) string {
	if strings.HasPrefix(class, "this machine") {
		return class + " address"
	}
	if strings.ContainsRune("aeiou", rune(class[0])) {
		return "an " + class + " address"
	}
	return "a " + class + " address"
}

// dial tries one address after the other; each gets an equal share of the remaining
// time.
func (p *Proxy) dial(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, netip.AddrPort, error) {
	var first error
	for i, a := range addrs {
		one, cancel := ctx, context.CancelFunc(func() {})
		if end, ok := ctx.Deadline(); ok && i < len(addrs)-1 {
			one, cancel = context.WithTimeout(ctx, time.Until(end)/time.Duration(len(addrs)-i))
		}
		addr := netip.AddrPortFrom(a, port)
		c, err := p.Dial(one, addr)
		cancel()
		if err == nil {
			if !p.hold(c) {
				return nil, addr, net.ErrClosed
			}
			return c, addr, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, netip.AddrPort{}, first
}

func lookupReason(err error) string {
	var de *net.DNSError
	if errors.As(err, &de) {
		switch {
		case de.IsNotFound:
			return "no such name"
		case de.IsTimeout:
			return "the name server does not answer"
		}
		return de.Err
	}
	return err.Error()
}

func dialRefusal(err error) *refusal {
	var op *net.OpError
	reason := err.Error()
	if errors.As(err, &op) && op.Err != nil {
		reason = op.Err.Error()
	}
	r := &refusal{502, replyFailed, reason}
	var ne net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		r.reply = replyRefused
	case errors.Is(err, syscall.ENETUNREACH):
		r.reply = replyNetwork
	case errors.Is(err, syscall.EHOSTUNREACH):
		r.reply = replyHost
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &ne) && ne.Timeout():
		r.status, r.reply, r.reason = 504, replyTimeout, "no answer in time"
	}
	return r
}
