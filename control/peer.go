package control

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// checkCaller returns an error unless the server may respond to the peer of c.
func checkCaller(c net.Conn) error {
	uid, known, err := peerUID(c)
	if err != nil {
		return &Error{Class: Forbidden, Message: fmt.Sprintf("the caller is not known: %v", err)}
	}
	if known && uid != 0 && uid != os.Geteuid() {
		return &Error{Class: Forbidden, Message: fmt.Sprintf("uid %d may not control this supervisor, which runs as uid %d", uid, os.Geteuid())}
	}
	return nil
}

// checkServer returns an error unless the client may trust the peer of c: it must
// run as root, or as the caller's own user.
func checkServer(c net.Conn, socket string) error {
	uid, known, err := peerUID(c)
	if err != nil {
		return &Error{Class: Forbidden, Message: fmt.Sprintf("the user that listens at %s is not known: %v", socket, err)}
	}
	if me := os.Geteuid(); known && uid != 0 && uid != me {
		return &Error{Class: Forbidden, Message: fmt.Sprintf("the process that listens at %s runs as uid %d, neither root nor you (uid %d)", socket, uid, me)}
	}
	return nil
}

// peerUID returns the peer's uid; known is false where the kernel does not report
// it, and only the mode of the socket protects it.
func peerUID(c net.Conn) (uid int, known bool, err error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return 0, false, nil
	}
	cred, err := sys.PeerCred(sc)
	if errors.Is(err, sys.ErrUnsupported) {
		return 0, false, nil
	}
	return cred.Uid, err == nil, err
}
