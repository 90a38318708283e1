package msgpackrpc

import (
	"strings"
	"sync/atomic"

	"github.com/hostsup/hostsup/codec"
)

// peer is what a session has found out of who is at the other end, by how that
// has answered the liveness question.
type peer struct {
	asked atomic.Uint32 // id of the last question
	other atomic.Bool   // it is no Neovim
}

// Stacks says whether the peer is a Neovim, as far as is known, that asks by its
// rpcrequest(): it runs its event loop until it has the answer, from where it may
// ask again, and ends when another answer comes than the one it has asked for
// last. What asks for Neovim's own functions is a program that serves one.
func (s *Session) Stacks(method string) bool {
	return !s.peer.other.Load() && !strings.HasPrefix(method, "nvim_") && !strings.HasPrefix(method, "vim_")
}

// question is told of each request that is sent.
func (s *Session) question(m *codec.Message) {
	if m.Method == s.ping {
		s.peer.asked.Store(m.ID)
	}
}

// answer is told of each response: a Neovim does not know what its hosts are
// asked, and they do not know what it is asked.
func (s *Session) answer(m *codec.Message) {
	if s.peer.asked.Load() != m.ID {
		return
	}
	ours := m.Err == nil && strings.HasPrefix(s.ping, "nvim_")
	s.peer.other.Store(!ours && (m.Err == nil || !strings.HasPrefix(m.Err.Message, "Invalid method: ")))
}
