//go:build amd64 || arm64

package sys

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// receive reads what the client has sent.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *relay) receive() {
	for range 16 { // and then whatever else is ready
		first := uintptr(1)
		if s.left > 0 {
			first = s.in.parts(&s.vec, 0, s.in.end, s.left)
		} else {
			s.vec[0] = [2]uintptr{uintptr(unsafe.Pointer(&s.head)) + s.headN, RelayOrderSize - s.headN}
		}
		n, _, errno := syscall.RawSyscall6(unix.SYS_READV, uintptr(s.conn), uintptr(unsafe.Pointer(&s.vec)), first, 0, 0, 0)
		if errno == unix.EAGAIN || errno == unix.EINTR {
			return
		}
		if errno == unix.ECONNRESET { // the client had not read all; what it has sent follows
			s.deaf = true
			continue
		}
		if errno != 0 || n == 0 {
			s.lose()
			return
		}
		if s.left > 0 {
			s.in.end += uint64(n)
			if s.left -= n; s.left == 0 {
				s.in.mid = s.in.end
			}
			continue
		}
		if s.headN += n; s.headN < RelayOrderSize {
			continue
		}
		if s.headN = 0; s.head[0] == RelayInput {
			s.feed() // makes room; here, because the stack does not grow
		}
		if !s.obey() {
			s.lose()
			return
		}
	}
}

// obey carries out the message whose head has arrived, and reports whether it is valid.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *relay) obey() bool {
	stream, size, value := uintptr(s.head[1]), uintptr(s.get(4, 4)), s.get(8, 8)
	if stream > 1 || size > s.most || size > 0 && s.head[0] != RelayInput {
		return false
	}
	r := &s.out[stream]
	switch s.head[0] {
	case RelayInput:
		if s.in.size-uintptr(s.in.end-s.in.from) < size && (s.in.end != s.in.from || !s.in.grow(s, size)) {
			return false
		}
		s.left = size
	case RelayEnd:
		s.inputEnd = true
	case RelayAck:
		if value < r.from || value > r.mid {
			return false
		}
		r.from = value
		r.shrink(s)
	case RelayRoom:
		return value <= uint64(s.most) && r.grow(s, uintptr(value))
	case RelayAsk:
		s.ask = true
	case RelaySurvive:
		s.survive = value == 1
	case RelaySignal:
		if s.child != 0 && value <= 64 {
			_, _, _ = syscall.RawSyscall6(unix.SYS_KILL, s.child, uintptr(value), 0, 0, 0, 0)
		}
	case RelayKill:
		s.killing = true
	case RelayRelease:
		s.killing, s.releasing = true, true
	default:
		return false
	}
	return true
}

// get returns a number of n bytes of the head that has arrived.
//
//go:norace
//go:nosplit
func (s *relay) get(at, n uintptr) (v uint64) {
	for i := n; i > 0; i-- {
		v = v<<8 | uint64(s.head[(at+i-1)%RelayOrderSize])
	}
	return v
}

// put sets a number of n bytes of the message that is sent.
//
//go:norace
//go:nosplit
func (s *relay) put(at, n uintptr, v uint64) {
	for i := range n {
		s.msg[(at+i)%uintptr(len(s.msg))] = byte(v)
		v >>= 8
	}
}

// relayChunk bounds the bytes of a stream in a message, so that the other stream has its
// turn.
const relayChunk = 32 << 10

// send sends what the client takes.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *relay) send() {
	for s.stuck = false; s.conn >= 0 && !s.deaf; {
		if s.msgN == 0 && s.bodyN == 0 && !s.next() {
			return
		}
		parts := uintptr(0)
		if s.msgN > 0 {
			s.vec[0] = [2]uintptr{uintptr(unsafe.Pointer(&s.msg)) + s.msgAt, s.msgN}
			parts = 1
		}
		if s.bodyN > 0 {
			parts = s.out[s.body&1].parts(&s.vec, parts, s.bodyAt, s.bodyN)
		}
		n, _, errno := syscall.RawSyscall6(unix.SYS_WRITEV, uintptr(s.conn), uintptr(unsafe.Pointer(&s.vec)), parts, 0, 0, 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			s.stuck = true
			return
		case errno != 0: // receive finds the end
			s.deaf = true
			return
		}
		head := min(n, s.msgN)
		s.msgAt += head
		s.msgN -= head
		s.bodyAt += uint64(n - head)
		s.bodyN -= n - head
	}
}

// next prepares the next message to the client, and reports whether there is one.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *relay) next() bool {
	if !s.greeted {
		s.greeted = true
		s.greet()
		return true
	}
	for range 2 {
		s.turns ^= 1
		i := s.turns & 1
		r := &s.out[i]
		if n := r.end - r.mid; n > 0 {
			n = min(n, relayChunk)
			s.begins(RelayData, i, uintptr(n), r.mid)
			s.body, s.bodyAt, s.bodyN = i, r.mid, uintptr(n)
			r.mid += n
			return true
		}
		if s.pipe[1+i] < 0 && !s.toldEOF[i] {
			s.toldEOF[i] = true
			s.begins(RelayEOF, i, 0, r.end)
			return true
		}
	}
	switch written := s.in.from; {
	case s.exited && !s.toldExit:
		s.toldExit = true
		s.begins(RelayExit, 0, 0, 0)
		s.put(4, 4, uint64(len(s.record)))
		for i := range s.record {
			s.msg[RelayReportSize+i] = s.record[i]
		}
		s.msgN += uintptr(len(s.record))
	case s.last && !s.toldGone:
		s.toldGone = true
		s.begins(RelayGone, 0, 0, 0)
	case written-s.reported >= uint64(s.in.small)/4 || s.ask && written == s.in.mid:
		s.ask = s.ask && written != s.in.mid
		s.begins(RelayTaken, 0, 0, 0)
	default:
		return false
	}
	return true
}

// begins sets the head of the next message.
//
//go:norace
//go:nosplit
func (s *relay) begins(kind byte, stream, size uintptr, offset uint64) {
	s.msg[0], s.msg[1] = kind, byte(stream)
	s.put(4, 4, uint64(size))
	s.put(8, 8, offset)
	s.put(16, 8, s.in.from)
	s.msgAt, s.msgN = 0, RelayReportSize
	s.reported = s.in.from
}

// greet sets the first message to a client.
//
//go:norace
//go:nosplit
func (s *relay) greet() {
	s.begins(RelayHello, 0, RelayStateSize, 0)
	const at = RelayReportSize
	s.put(at, 4, RelayVersion)
	s.put(at+4, 4, uint64(s.child))
	s.put(at+8, 8, s.in.mid)
	s.put(at+16, 8, s.out[0].from)
	s.put(at+24, 8, s.out[1].from)
	s.put(at+32, 4, uint64(s.in.small))
	s.put(at+36, 4, uint64(s.out[0].small))
	s.put(at+40, 4, uint64(s.out[1].small))
	s.put(at+48, 8, uint64(s.most))
	s.msgN += RelayStateSize
}
