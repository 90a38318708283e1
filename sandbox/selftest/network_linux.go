//go:build !hostsup_posix

package selftest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// unheard is a judge: our server must not have heard anything.
func unheard(s *stage, r *run1) finding {
	select {
	case what := <-s.vars["ear"].(*ear).heard:
		return escaped("our server heard %s", what)
	case <-time.After(30 * time.Millisecond):
		return held("%s", r.how())
	}
}

// serves prepares a stream server.
func serves(network, address string) func(*stage) error {
	return func(s *stage) error {
		a, e, err := s.listens(network, s.local(address))
		s.vars["ear"] = e
		s.address(a)
		return err
	}
}

// hears prepares a datagram server.
func hears(network, address string) func(*stage) error {
	return func(s *stage) error {
		a, e, err := s.receives(network, s.local(address))
		s.vars["ear"] = e
		s.address(a)
		return err
	}
}

// local is an address on this stage: of a path below it, or a name of its own.
func (s *stage) local(address string) string {
	switch {
	case address == "@":
		return "@" + s.mark
	case strings.HasPrefix(address, "./"):
		return s.path(address[2:])
	}
	return address
}

func (s *stage) address(a net.Addr) {
	if a == nil {
		return
	}
	s.set("address", a)
	if _, port, err := net.SplitHostPort(a.String()); err == nil {
		s.set("port", port)
	}
}

// says connects and says a word.
func says(network, address string) error {
	c, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err = io.WriteString(c, "hello"); err != nil || strings.HasPrefix(network, "udp") || network == "unixgram" {
		return err
	}
	// Our server hangs up when it has heard; until then it may be on its way.
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = c.Read(make([]byte, 1))
	return nil
}

// network are attempts to reach a server on this machine, to be one, and to
// learn about others'.
func network() []*attempt {
	var list []*attempt
	reaches := func(name, about string, prepare func(*stage) error, do func(in *inside) error) *attempt {
		list = append(list, &attempt{class: Network, name: name, about: about, prepare: prepare, do: do, judge: unheard})
		return list[len(list)-1]
	}
	dials := func(name, about, network string, prepare func(*stage) error) *attempt {
		return reaches(name, about, prepare, func(in *inside) error { return says(network, in.get("address")) })
	}
	tcp := serves("tcp", "127.0.0.1:0")
	dials("tcp", "connect to a server on the machine", "tcp", tcp)
	dials("tcp6", "connect to a server on the machine by IPv6", "tcp6", serves("tcp6", "[::1]:0"))
	reaches("tcp-mapped", "connect by an IPv4 address in an IPv6 one", tcp, func(in *inside) error {
		return connect(unix.AF_INET6, unix.SOCK_STREAM, 0, &unix.SockaddrInet6{Port: in.num("port"), Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}})
	})
	reaches("tcp-any", "connect to 0.0.0.0, which is the machine itself", tcp, func(in *inside) error {
		return connect(unix.AF_INET, unix.SOCK_STREAM, 0, &unix.SockaddrInet4{Port: in.num("port")})
	})
	reaches("tcp-fast-open", "connect by sending the first data", tcp, func(in *inside) error {
		fd := must(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		defer unix.Close(fd)
		return unix.Sendto(fd, []byte("hello"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: in.num("port"), Addr: [4]byte{127, 0, 0, 1}})
	})
	reaches("mptcp", "connect by multipath TCP", tcp, func(in *inside) error {
		return connect(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, &unix.SockaddrInet4{Port: in.num("port"), Addr: [4]byte{127, 0, 0, 1}})
	})
	dials("udp", "send a datagram to a server on the machine", "udp", hears("udp", "127.0.0.1:0"))
	dials("udp6", "send a datagram by IPv6", "udp6", hears("udp6", "[::1]:0"))
	reaches("udp-sendmsg", "send a datagram without connecting", hears("udp", "127.0.0.1:0"), func(in *inside) error {
		fd := must(unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0))
		defer unix.Close(fd)
		return unix.Sendmsg(fd, []byte("hello"), nil, &unix.SockaddrInet4{Port: in.num("port"), Addr: [4]byte{127, 0, 0, 1}}, 0)
	})
	dials("unix-abstract", "connect to a unix socket with an abstract name", "unix", serves("unix", "@"))
	dials("unix-abstract-datagram", "send a datagram to an abstract name", "unixgram", hears("unixgram", "@"))
	dials("unix-path", "connect to a unix socket outside by its path", "unix", serves("unix", "./outside/sock"))
	dials("unix-path-datagram", "send a datagram to a unix socket outside", "unixgram", hears("unixgram", "./outside/sock"))
	dials("unix-granted-read", "connect to a unix socket in a folder that is granted for reading only", "unix", serves("unix", "./read/sock")).named = []string{"sockets in files"}
	reaches("unix-proc-root", "connect to a unix socket outside through /proc/PID/root", func(s *stage) error {
		check(serves("unix", "./outside/sock")(s))
		return needVictim(s)
	}, func(in *inside) error {
		return says("unix", "/proc/"+in.get("victim")+"/cwd/sock")
	})
	// Names of servers that a policy allows one of.
	listed := func(name, about string, do func(in *inside) error) {
		at := reaches(name, about, tcp, do)
		at.refused = []policy.Level{policy.Landlock}
		at.change = func(s *stage, p *policy.Policy, _ *policy.Limits) {
			p.Network = policy.NetworkAllow
			port, _ := strconv.Atoi(s.params["port"])
			p.Allow = []string{fmt.Sprintf("127.0.0.1:%d", port%60000+1)} // another one
		}
	}
	listed("allow-direct", "with another address allowed: connect past the proxy",
		func(in *inside) error { return says("tcp", in.get("address")) })
	listed("allow-connect", "with another address allowed: ask the proxy for a tunnel",
		func(in *inside) error { return tunnel(in.get("address")) })
	listed("allow-http", "with another address allowed: ask the proxy to fetch",
		func(in *inside) error { return fetch("http://" + in.get("address") + "/") })
	listed("allow-name", "with another address allowed: ask the proxy by a name that means it",
		func(in *inside) error { return tunnel("localhost:" + in.get("port")) })
	listed("allow-socks", "with another address allowed: ask the proxy by SOCKS",
		func(in *inside) error { return socks(in.num("port")) })

	list = append(list, listens()...)
	return append(list, learns()...)
}

// connect is the plain call: no library that would take another way.
func connect(domain, kind, protocol int, to unix.Sockaddr) error {
	fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	defer unix.Close(fd)
	return unix.Connect(fd, to)
}

// proxy is the address of the sandbox's proxy; without one, that of the server
// itself, so that the control asks it.
func proxy(server string) string {
	for _, key := range []string{"HTTP_PROXY", "http_proxy"} {
		if u, err := url.Parse(os.Getenv(key)); err == nil && u.Host != "" {
			return u.Host
		}
	}
	return server
}

// tunnel asks the proxy for a tunnel and says a word through it.
func tunnel(address string) error {
	c, err := net.DialTimeout("tcp", proxy(address), time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", address)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	_, err = io.WriteString(c, "hello")
	return err
}

// fetch asks the proxy for a page.
func fetch(page string) error {
	u, err := url.Parse(page)
	if err != nil {
		return err
	}
	c, err := net.DialTimeout("tcp", proxy(u.Host), time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", page, u.Host)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	res.Body.Close()
	if res.StatusCode >= 400 {
		return errors.New(res.Status)
	}
	return nil
}

// socks asks the proxy by SOCKS 5 for a port on loopback.
func socks(port int) error {
	c, err := net.DialTimeout("tcp", proxy(fmt.Sprintf("127.0.0.1:%d", port)), time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = c.Write([]byte{5, 1, 0})
	b := make([]byte, 10)
	if _, err := io.ReadFull(c, b[:2]); err != nil {
		return err
	}
	_, _ = c.Write(binary.BigEndian.AppendUint16([]byte{5, 1, 0, 1, 127, 0, 0, 1}, uint16(port)))
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	if b[1] != 0 {
		return fmt.Errorf("the proxy answers %d", b[1])
	}
	_, err = io.WriteString(c, "hello")
	return err
}

// listens are attempts to be a server that others on the machine can reach.
func listens() []*attempt {
	reached := func(s *stage, r *run1) finding {
		if s.vars["reached"] == true {
			return escaped("we reached it")
		}
		return held("%s", r.how())
	}
	// serve listens, says where and answers with the token.
	serve := func(network, address string) func(in *inside) error {
		return func(in *inside) error {
			if address == "@" {
				address += in.get("token")
			}
			l := must(net.Listen(network, address))
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = io.WriteString(c, in.get("token"))
					c.Close()
				}
			}()
			in.say("%s", l.Addr())
			in.pause()
			return nil
		}
	}
	visit := func(network string) func(*stage, *run1) {
		return func(s *stage, r *run1) {
			c, err := net.DialTimeout(network, r.last(), time.Second)
			if err != nil {
				return
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(time.Second))
			b, _ := io.ReadAll(c)
			s.vars["reached"] = string(b) == s.secret
		}
	}
	return []*attempt{
		{class: Network, name: "listen-tcp", about: "be a server that others on the machine can reach", prepare: token, do: serve("tcp", "127.0.0.1:0"), watch: visit("tcp"), judge: reached},
		{class: Network, name: "listen-abstract", about: "be a server with an abstract name", prepare: token, do: serve("unix", "@"), watch: visit("unix"), judge: reached},
		{
			class: Network, name: "listen-udp", about: "receive datagrams from others on the machine", prepare: token, judge: unseen,
			do: func(in *inside) error {
				p := must(net.ListenPacket("udp", "127.0.0.1:0"))
				defer p.Close()
				in.say("%s", p.LocalAddr())
				in.pause()
				_ = p.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
				b := make([]byte, 256)
				n, _, err := p.ReadFrom(b)
				in.say("%s", b[:n])
				return err
			},
			watch: func(s *stage, r *run1) {
				if c, err := net.Dial("udp", r.last()); err == nil {
					_, _ = io.WriteString(c, s.secret)
					c.Close()
				}
			},
		},
	}
}
