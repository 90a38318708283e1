//go:build !hostsup_posix

package selftest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// network are attempts to reach a server on this machine, to be one, and to learn about others'. There is one for each
// way around a rule that knows TCP ports only, as Landlock's do: other families, protocols and calls, and the proxy.
func network() []*attempt {
	dials := func(network string) func(*inside) error {
		return func(in *inside) error { return greet(network, in.get("address")) }
	}
	// connects is the plain call: no library that would take another way.
	connects := func(domain, protocol int, to func(port int) unix.Sockaddr) func(*inside) error {
		return func(in *inside) error {
			fd, err := unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, protocol)
			check(failed("socket", err))
			defer unix.Close(fd)
			return unix.Connect(fd, to(in.num("port")))
		}
	}
	// sends hands a datagram, or the first data of a connection, to a call.
	sends := func(kind int, send func(fd int, b []byte, to unix.Sockaddr) error) func(*inside) error {
		return func(in *inside) error {
			fd := must(unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0))
			defer unix.Close(fd)
			return send(fd, []byte("hello"), loopback(in.num("port")))
		}
	}
	tcp, udp := serves("tcp", "127.0.0.1:0"), serves("udp", "127.0.0.1:0")
	return slices.Concat(family(Network, attempt{prepare: tcp, judge: unheard}, []attempt{
		{name: "tcp", about: "connect to a server on the machine", do: dials("tcp")},
		{name: "tcp6", about: "connect to a server on the machine by IPv6", prepare: serves("tcp6", "[::1]:0"), do: dials("tcp6")},
		{name: "tcp-mapped", about: "connect by an IPv4 address in an IPv6 one",
			do: connects(unix.AF_INET6, 0, func(port int) unix.Sockaddr {
				return &unix.SockaddrInet6{Port: port, Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}}
			})},
		{name: "tcp-any", about: "connect to 0.0.0.0, which is the machine itself",
			do: connects(unix.AF_INET, 0, func(port int) unix.Sockaddr { return &unix.SockaddrInet4{Port: port} })},
		{name: "tcp-fast-open", about: "connect by sending the first data",
			do: sends(unix.SOCK_STREAM, func(fd int, b []byte, to unix.Sockaddr) error {
				return unix.Sendto(fd, b, unix.MSG_FASTOPEN, to)
			})},
		{name: "mptcp", about: "connect by multipath TCP", do: connects(unix.AF_INET, unix.IPPROTO_MPTCP, loopback)},
		{name: "udp", about: "send a datagram to a server on the machine", prepare: udp, do: dials("udp")},
		{name: "udp6", about: "send a datagram by IPv6", prepare: serves("udp6", "[::1]:0"), do: dials("udp6")},
		{name: "udp-sendmsg", about: "send a datagram without connecting", prepare: udp,
			do: sends(unix.SOCK_DGRAM, func(fd int, b []byte, to unix.Sockaddr) error {
				return unix.Sendmsg(fd, b, nil, to, 0)
			})},
		{name: "unix-abstract", about: "connect to a unix socket with an abstract name",
			prepare: serves("unix", "@"), do: dials("unix")},
		{name: "unix-abstract-datagram", about: "send a datagram to an abstract name",
			prepare: serves("unixgram", "@"), do: dials("unixgram")},
		{name: "unix-path", about: "connect to a unix socket outside by its path",
			prepare: serves("unix", "./outside/sock"), do: dials("unix")},
		{name: "unix-path-datagram", about: "send a datagram to a unix socket outside",
			prepare: serves("unixgram", "./outside/sock"), do: dials("unixgram")},
		{name: "unix-granted-read", about: "connect to a unix socket in a folder that is granted for reading only",
			prepare: serves("unix", "./read/sock"), do: dials("unix"), named: []string{"sockets in files"}},
		{name: "unix-proc-root", about: "connect to a unix socket outside through /proc/PID/root",
			prepare: func(s *stage) {
				serves("unix", "./outside/sock")(s)
				needVictim(s)
			},
			do: func(in *inside) error { return greet("unix", in.path("/proc/$victim/cwd/sock")) }},
	}), family(Network, attempt{
		prepare: tcp, judge: unheard, refused: []policy.Level{policy.Landlock},
		change: func(s *stage, p *policy.Policy, _ *policy.Limits) {
			p.Network, p.Allow = policy.NetworkAllow, []string{fmt.Sprintf("127.0.0.1:%d", s.num("port")%60000+1)} // another one
		},
	}, []attempt{
		{name: "allow-direct", about: "with another address allowed: connect past the proxy", do: dials("tcp")},
		{name: "allow-connect", about: "with another address allowed: ask the proxy for a tunnel", do: tunnels("$address")},
		{name: "allow-http", about: "with another address allowed: ask the proxy to fetch", do: fetch},
		{name: "allow-name", about: "with another address allowed: ask the proxy by a name that means it",
			do: tunnels("localhost:$port")},
		{name: "allow-socks", about: "with another address allowed: ask the proxy by SOCKS", do: socks},
	}), listens(), learns())
}

func loopback(port int) unix.Sockaddr {
	return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

// greet connects and says a word.
func greet(network, address string) error {
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

// dialProxy connects to the sandbox's proxy; without one, to the server itself, so that the control asks that.
func dialProxy(server string) net.Conn {
	for _, key := range []string{"http_proxy", "HTTP_PROXY"} {
		if u, err := url.Parse(os.Getenv(key)); err == nil && u.Host != "" {
			server = u.Host
		}
	}
	c := must(net.DialTimeout("tcp", server, time.Second))
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	return c
}

// ask sends a request and wants an answer with a status below one.
func ask(c net.Conn, below int, format string, args ...any) error {
	fmt.Fprintf(c, format, args...)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	res.Body.Close()
	return unless(res.StatusCode < below, res.Status)
}

// tunnels asks the proxy for a tunnel and says a word through it.
func tunnels(name string) func(*inside) error {
	return func(in *inside) error {
		address := os.Expand(name, in.get)
		c := dialProxy(address)
		defer c.Close()
		check(ask(c, 201, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", address))
		return errOf(io.WriteString(c, "hello"))
	}
}

// fetch asks the proxy for a page of the server.
func fetch(in *inside) error {
	address := in.get("address")
	c := dialProxy(address)
	defer c.Close()
	return ask(c, 400, "GET http://%s/ HTTP/1.1\r\nHost: %[1]s\r\nConnection: close\r\n\r\n", address)
}

// socks asks the proxy by SOCKS 5 for the server, and says a word to it.
func socks(in *inside) error {
	c := dialProxy(in.get("address"))
	defer c.Close()
	_, _ = c.Write([]byte{5, 1, 0})
	b := make([]byte, 10)
	must(io.ReadFull(c, b[:2]))
	_, _ = c.Write(binary.BigEndian.AppendUint16([]byte{5, 1, 0, 1, 127, 0, 0, 1}, uint16(in.num("port"))))
	must(io.ReadFull(c, b))
	check(unless(b[1] == 0, "the proxy refuses"))
	return errOf(io.WriteString(c, "hello"))
}

// listens are attempts to be a server that others on the machine can reach.
func listens() []*attempt {
	// serve listens, says where and answers with the token.
	serve := func(network, address string) func(in *inside) error {
		return func(in *inside) error {
			l := must(net.Listen(network, os.Expand(address, in.get)))
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
	visit := func(network string) func(*stage, *trial) {
		return func(s *stage, r *trial) {
			c := must(net.DialTimeout(network, r.last(), time.Second))
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(time.Second))
			if b, _ := io.ReadAll(c); string(b) == s.token {
				s.seen = "we reached it"
			}
		}
	}
	return family(Network, attempt{judge: watched}, []attempt{
		{name: "listen-tcp", about: "be a server that others on the machine can reach",
			do: serve("tcp", "127.0.0.1:0"), watch: visit("tcp")},
		{name: "listen-abstract", about: "be a server with an abstract name", do: serve("unix", "@$token"), watch: visit("unix")},
		{name: "listen-udp", about: "receive datagrams from others on the machine", judge: unseen,
			do: func(in *inside) error {
				p := must(net.ListenPacket("udp", "127.0.0.1:0"))
				defer p.Close()
				in.say("%s", p.LocalAddr())
				in.pause()
				_ = p.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
				return in.sayRead(func(b []byte) (int, error) {
					n, _, err := p.ReadFrom(b)
					return n, err
				})
			},
			watch: func(s *stage, r *trial) {
				c := must(net.Dial("udp", r.last()))
				defer c.Close()
				_, _ = io.WriteString(c, s.secret)
			}},
	})
}

// learns are attempts to learn what others' sockets are doing, and by kinds of sockets that no rule on the network
// speaks of.
func learns() []*attempt {
	makes := func(domain, kind, protocol int) func(*inside) error {
		return func(*inside) error { return closed(unix.Socket(domain, kind|unix.SOCK_CLOEXEC, protocol)) }
	}
	const notListed = "it is not in the list"
	needServer := serves("tcp", "127.0.0.1:0")
	return family(Network, attempt{}, []attempt{
		{name: "netlink-devices", about: "list the machine's network devices by netlink", prepare: needDevice, judge: namesDevice,
			do: func(in *inside) error {
				all, err := net.Interfaces() // by RTM_GETLINK
				for _, i := range all {
					in.say("%s", i.Name)
				}
				return err
			}},
		{name: "netlink-sockets", about: "list the machine's servers by netlink", prepare: needServer, do: func(in *inside) error {
			const byFamily, listening = 20, 1 << 10
			b := append(make([]byte, 0, 56), unix.AF_INET, unix.IPPROTO_TCP, 0, 0)
			b = binary.NativeEndian.AppendUint32(b, listening)
			port, found := in.num("port"), false
			check(askNetlink(unix.NETLINK_INET_DIAG, byFamily, unix.NLM_F_DUMP, b[:56], func(data []byte) {
				found = found || len(data) >= 6 && int(binary.BigEndian.Uint16(data[4:])) == port
			}))
			return unless(found, notListed)
		}},
		{name: "proc-sockets", about: "list the machine's servers in /proc/net/tcp", prepare: needServer,
			do: func(in *inside) error {
				b := must(os.ReadFile("/proc/net/tcp"))
				return unless(strings.Contains(string(b), fmt.Sprintf(":%04X ", in.num("port"))), notListed)
			}},
		{name: "netlink-audit", about: "speak to the kernel's audit system", do: func(*inside) error {
			const get = 1000 // AUDIT_GET: what is its state?
			return askNetlink(unix.NETLINK_AUDIT, get, 0, nil, func([]byte) {})
		}},
		{name: "raw", about: "make a raw socket", do: makes(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)},
		{name: "packet", about: "make a socket that hears all packets", do: makes(unix.AF_PACKET, unix.SOCK_RAW, 0x300)},
		{name: "vsock", about: "make a socket to the machine's hypervisor, which no network namespace holds",
			do: makes(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
		{name: "alg", about: "make a socket to the kernel's ciphers", do: makes(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)},
		{name: "xdp", about: "make a socket to a network device's queues", do: makes(unix.AF_XDP, unix.SOCK_RAW, 0)},
	})
}

// askNetlink sends a request to a part of the kernel and calls each for the messages of its answer: one, or with
// NLM_F_DUMP all until the last.
func askNetlink(protocol int, kind, flags uint16, data []byte, each func(data []byte)) error {
	fd := must(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol))
	defer unix.Close(fd)
	m := binary.NativeEndian.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(data)))
	m = binary.NativeEndian.AppendUint16(m, kind)
	m = binary.NativeEndian.AppendUint16(m, unix.NLM_F_REQUEST|flags)
	m = append(append(m, make([]byte, 8)...), data...)
	check(unix.Sendto(fd, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
	for buf := make([]byte, 64<<10); ; {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		check(err)
		for _, m := range must(syscall.ParseNetlinkMessage(buf[:n])) {
			switch m.Header.Type {
			case unix.NLMSG_DONE:
				return nil
			case unix.NLMSG_ERROR:
				if code := int32(binary.NativeEndian.Uint32(m.Data)); code != 0 {
					return syscall.Errno(-code)
				}
				return nil
			}
			each(m.Data)
		}
		if flags&unix.NLM_F_DUMP == 0 {
			return nil
		}
	}
}

// needDevice is a prepare for attempts to learn the names of network devices, and namesDevice their judge.
func needDevice(*stage) {
	needs(len(devicesOfNet()) != 0, "a network device besides lo")
}

func namesDevice(_ *stage, r *trial) finding {
	for _, name := range devicesOfNet() {
		if slices.Contains(r.said, name) {
			return escaped("there is %s", name)
		}
	}
	return held("%s", r.how())
}

// devicesOfNet are the machine's network devices without the loopback one.
func devicesOfNet() []string {
	all, _ := net.Interfaces()
	var names []string
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 {
			names = append(names, i.Name)
		}
	}
	return names
}
