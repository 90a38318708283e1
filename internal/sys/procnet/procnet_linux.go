package procnet

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Listening lists the addresses of TCP sockets at which process pid listens, as
// it sees them.
func Listening(pid int) ([]netip.AddrPort, error) {
	base := "/proc/" + strconv.Itoa(pid)
	fds, err := os.ReadDir(base + "/fd")
	if err != nil {
		return nil, err
	}
	own := map[string]bool{}
	for _, fd := range fds {
		to, err := os.Readlink(base + "/fd/" + fd.Name())
		if err != nil {
			continue // closed meanwhile
		}
		if inode, ok := strings.CutPrefix(to, "socket:["); ok {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return listening(base, func(inode string) bool { return own[inode] })
}

// AllListening lists the addresses of all TCP sockets that listen in the network
// of this process, whichever process they belong to.
func AllListening() ([]netip.AddrPort, error) {
	return listening("/proc/self", func(string) bool { return true })
}

// listening reads the listening sockets in the network of a process whose inodes are
// wanted.
func listening(base string, wanted func(inode string) bool) ([]netip.AddrPort, error) {
	var out []netip.AddrPort
	for _, name := range []string{"/net/tcp", "/net/tcp6"} {
		f, err := os.Open(base + name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			f := strings.Fields(lines.Text())
			if len(f) < 10 || f[3] != "0A" || !wanted(f[9]) {
				continue
			}
			if at, ok := socketAddress(f[1]); ok {
				out = append(out, at)
			}
		}
		err = lines.Err()
		_ = f.Close() // it was read only
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// socketAddress reads an address of /proc/net/tcp: words of four bytes in the
// byte order of the machine, and the port.
func socketAddress(text string) (netip.AddrPort, bool) {
	host, port, ok := strings.Cut(text, ":")
	b, err := hex.DecodeString(host)
	n, perr := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || perr != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	a, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a.Unmap(), uint16(n)), ok
}

// SameNetwork reports whether process pid sees the same network as this one.
func SameNetwork(pid int) (bool, error) {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return false, err
	}
	its, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/net")
	return own == its, err
}

// DialIn connects to a TCP address of the network that process pid sees. If that is
// not this process's own, DialIn needs CAP_SYS_ADMIN.
func DialIn(ctx context.Context, pid int, to netip.AddrPort) (net.Conn, error) {
	same, err := SameNetwork(pid)
	if err != nil {
		return nil, err
	}
	if same {
		return new(net.Dialer).DialContext(ctx, "tcp", to.String())
	}
	ns, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/net")
	if err != nil {
		return nil, err
	}
	defer ns.Close() // it was read only
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go onThread(func() { // ends with ctx at the latest
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- result{nil, fmt.Errorf("enter the network of process %d: %w", pid, err)}
			return
		}
		c, err := new(net.Dialer).DialContext(ctx, "tcp", to.String()) // an address is dialed on this goroutine
		done <- result{c, err}
	})
	r := <-done
	return r.conn, r.err
}

// onThread runs f on a thread of its own, which ends with the goroutine of the caller. It is not the
// main thread: that one does not end, and /proc/self shows what it sees as that of the process.
func onThread(f func()) {
	runtime.LockOSThread() // for good
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() { // on another thread, because this one waits
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
	runtime.UnlockOSThread()
}
