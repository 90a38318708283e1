//go:build !hostsup_posix

package selftest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// learns are attempts by other kinds of sockets, and to learn what others'
// sockets are doing.
func learns() []*attempt {
	list := []*attempt{
		{
			class: Network, name: "netlink-devices", about: "list the machine's network devices by netlink",
			prepare: func(*stage) error {
				if len(devicesOfNet()) == 0 {
					return missing("a network device besides lo")
				}
				return nil
			},
			do: func(in *inside) error {
				b := must(syscall.NetlinkRIB(unix.RTM_GETLINK, unix.AF_UNSPEC))
				all, err := syscall.ParseNetlinkMessage(b)
				for i := range all {
					attrs, _ := syscall.ParseNetlinkRouteAttr(&all[i])
					for _, a := range attrs {
						if a.Attr.Type == unix.IFLA_IFNAME {
							in.say("%s", unix.ByteSliceToString(a.Value))
						}
					}
				}
				return err
			},
			judge: func(_ *stage, r *run1) finding {
				for _, name := range devicesOfNet() {
					if slices.Contains(r.said, name) {
						return escaped("there is %s", name)
					}
				}
				return held("%s", r.how())
			},
		},
		{
			class: Network, name: "netlink-sockets", about: "list the machine's servers by netlink", prepare: serves("tcp", "127.0.0.1:0"),
			do: func(in *inside) error { return findSocket(in.num("port")) },
		},
		{
			class: Network, name: "proc-sockets", about: "list the machine's servers in /proc/net/tcp", prepare: serves("tcp", "127.0.0.1:0"),
			do: func(in *inside) error {
				b, err := os.ReadFile("/proc/net/tcp")
				if err == nil && !strings.Contains(string(b), fmt.Sprintf(":%04X ", in.num("port"))) {
					return errors.New("it is not in the list")
				}
				return err
			},
		},
		{
			class: Network, name: "netlink-audit", about: "speak to the kernel's audit system",
			do: func(*inside) error {
				fd := must(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_AUDIT))
				defer unix.Close(fd)
				const get = 1000 // AUDIT_GET: what is its state?
				m := binary.NativeEndian.AppendUint32(nil, unix.NLMSG_HDRLEN)
				m = binary.NativeEndian.AppendUint16(m, get)
				m = binary.NativeEndian.AppendUint16(m, unix.NLM_F_REQUEST)
				m = append(m, make([]byte, 8)...)
				check(unix.Sendto(fd, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
				b := make([]byte, 4096)
				n, _, err := unix.Recvfrom(fd, b, 0)
				if err == nil && n >= 20 && binary.NativeEndian.Uint16(b[4:]) == unix.NLMSG_ERROR {
					if code := int32(binary.NativeEndian.Uint32(b[16:])); code != 0 {
						return syscall.Errno(-code)
					}
				}
				return err
			},
		},
	}
	for _, k := range []struct {
		name, about          string
		domain, kind, protoc int
	}{
		{"raw", "make a raw socket", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP},
		{"packet", "make a socket that hears all packets", unix.AF_PACKET, unix.SOCK_RAW, 0x300},
		{"vsock", "make a socket to the machine's hypervisor, which no network namespace holds", unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		{"alg", "make a socket to the kernel's ciphers", unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
		{"xdp", "make a socket to a network device's queues", unix.AF_XDP, unix.SOCK_RAW, 0},
	} {
		list = append(list, &attempt{
			class: Network, name: k.name, about: k.about,
			do: func(*inside) error {
				fd, err := unix.Socket(k.domain, k.kind|unix.SOCK_CLOEXEC, k.protoc)
				if err == nil {
					unix.Close(fd)
				}
				return err
			},
		})
	}
	return list
}

// findSocket asks the kernel for all TCP servers and looks for one.
func findSocket(port int) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	const byFamily, listening = 20, 1 << 10
	b := binary.NativeEndian.AppendUint32(nil, 16+56)
	b = binary.NativeEndian.AppendUint16(b, byFamily)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	b = append(b, make([]byte, 8)...)
	b = append(b, unix.AF_INET, unix.IPPROTO_TCP, 0, 0)
	b = binary.NativeEndian.AppendUint32(b, listening)
	b = append(b, make([]byte, 48)...)
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err != nil {
			return err
		}
		all, err := syscall.ParseNetlinkMessage(buf[:n])
		if err != nil {
			return err
		}
		for _, m := range all {
			switch {
			case m.Header.Type == unix.NLMSG_DONE:
				return errors.New("it is not in the list")
			case m.Header.Type == unix.NLMSG_ERROR:
				return syscall.Errno(-int32(binary.NativeEndian.Uint32(m.Data)))
			case len(m.Data) >= 6 && int(binary.BigEndian.Uint16(m.Data[4:])) == port:
				return nil
			}
		}
	}
}
