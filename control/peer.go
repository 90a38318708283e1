package control

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// checkCaller says whether the server's side may answer whoever is at the
// other end of c.
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

// checkServer says whether the client's side may trust whoever listens at the
// other end of c: root, or the caller's own user.
func checkServer(c net.Conn, socket string) error {
	uid, known, err := peerUID(c)
	if err != nil {
		return &Error{Class: Forbidden, Message: fmt.Sprintf("who listens at %s is not known: %v", socket, err)}
	}
	if me := os.Geteuid(); known && uid != 0 && uid != me {
		return &Error{Class: Forbidden, Message: fmt.Sprintf("whoever listens at %s is uid %d, neither root nor you (uid %d)", socket, uid, me)}
	}
	return nil
}

// peerUID asks the kernel; known is false where it cannot be asked, and the
// mode of the socket is all there is.
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
