package sys

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Types of the records of the kernel's audit subsystem that are used here.
const (
	AuditSeccomp        = 1326 // a system call filter refused a call, or killed for it
	AuditLandlockAccess = 1423 // a Landlock domain refused an access
	AuditLandlockDomain = 1424 // a Landlock domain was first refused, or has ended
)

const (
	auditGet = 1000
	auditSet = 1001

	auditReadLog       = 1 // the multicast group that may only listen
	auditStatusEnabled = 1
	auditStatusSize    = 44
)

// AuditRecord is one record: its type and its text, "audit(TIME:SERIAL): …".
type AuditRecord struct {
	Type uint16
	Text string
}

// OpenAudit joins the listeners to the kernel's audit records; other listeners lose
// nothing. It needs CAP_AUDIT_READ in the first user namespace. Close ends a ReadAudit
// under way.
func OpenAudit() (*os.File, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_AUDIT)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	// The kernel drops records that exceed the buffer, and a program that is refused
	// often causes many. Only root may exceed the system's own bound.
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 1<<20) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 1<<20)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: auditReadLog}); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("bind", err)
	}
	return NewFile(fd, "audit")
}

// ReadAudit waits for one record and reads it into buf; 16 KiB hold any. lost means that
// earlier records were lost.
func ReadAudit(f *os.File, buf []byte) (r AuditRecord, lost bool, err error) {
	n, err := f.Read(buf)
	if errors.Is(err, unix.ENOBUFS) {
		return AuditRecord{}, true, nil
	}
	if err != nil {
		return AuditRecord{}, false, err
	}
	return parseAudit(buf[:n]), false, nil
}

func parseAudit(b []byte) AuditRecord {
	if len(b) < unix.NLMSG_HDRLEN {
		return AuditRecord{}
	}
	return AuditRecord{
		Type: binary.NativeEndian.Uint16(b[4:]),
		Text: strings.TrimRight(string(b[unix.NLMSG_HDRLEN:]), "\x00\n"),
	}
}

// AuditEnabled reports whether the kernel makes audit records at all. It needs
// CAP_AUDIT_CONTROL.
func AuditEnabled() (bool, error) {
	b, err := auditRequest(auditGet, unix.NLM_F_REQUEST|unix.NLM_F_ACK, nil)
	if err != nil || len(b) < 8 {
		return false, err
	}
	return binary.NativeEndian.Uint32(b[4:]) != 0, nil
}

// SetAuditEnabled switches audit records on or off for the whole machine. It needs
// CAP_AUDIT_CONTROL.
func SetAuditEnabled(on bool) error {
	b := make([]byte, auditStatusSize)
	binary.NativeEndian.PutUint32(b, auditStatusEnabled)
	if on {
		binary.NativeEndian.PutUint32(b[4:], 1)
	}
	_, err := auditRequest(auditSet, unix.NLM_F_REQUEST|unix.NLM_F_ACK, b)
	return err
}

// auditRequest sends one request and returns the answer.
func auditRequest(kind, flags uint16, payload []byte) (answer []byte, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_AUDIT)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	tv := unix.NsecToTimeval(int64(2 * time.Second))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		return nil, os.NewSyscallError("setsockopt", err)
	}
	msg := make([]byte, unix.NLMSG_HDRLEN, unix.NLMSG_HDRLEN+len(payload))
	binary.NativeEndian.PutUint32(msg, uint32(unix.NLMSG_HDRLEN+len(payload)))
	binary.NativeEndian.PutUint16(msg[4:], kind)
	binary.NativeEndian.PutUint16(msg[6:], flags)
	binary.NativeEndian.PutUint32(msg[8:], 1)
	if err := unix.Sendto(fd, append(msg, payload...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, os.NewSyscallError("sendto", err)
	}
	buf := make([]byte, 16<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, os.NewSyscallError("recvfrom", err)
		}
		if n < unix.NLMSG_HDRLEN {
			continue
		}
		body := buf[unix.NLMSG_HDRLEN:n]
		switch binary.NativeEndian.Uint16(buf[4:]) {
		case unix.NLMSG_ERROR:
			if len(body) >= 4 {
				if e := int32(binary.NativeEndian.Uint32(body)); e != 0 {
					return nil, os.NewSyscallError("audit", syscall.Errno(-e))
				}
			}
			if kind != auditGet || answer != nil {
				return answer, nil
			}
		case kind:
			// The answer may come before or after the acknowledgement.
			return append([]byte(nil), body...), nil
		}
	}
}
