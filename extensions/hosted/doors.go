package hosted

import (
	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/extensions/lsp"
	"github.com/hostsup/hostsup/extensions/mcp"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/supervisor"
)

// served are the servers in front of a host; nil for a kind that it does not have.
type served struct {
	mcp   *mcp.Server
	lsp   *lsp.Server
	leave func() // takes their door away
}

// openDoor puts the servers in front of a host that it is to have.
func (s *services) openDoor(h *supervisor.Host, svc *service.Service) {
	e, spec := s.household(h), h.Spec().Extensions
	if e == nil {
		return
	}
	own := &served{}
	var door attach.Door
	if spec.MCP != nil {
		own.mcp = s.newMCP(h, svc, e, spec.MCP)
		door = append(door, attach.DoorServer{Protocol: jsonrpc.Lines(jsonrpc.Options{}), Serve: own.mcp.Serve})
	}
	if spec.LSP != nil {
		own.lsp = s.newLSP(h, svc, e, spec.LSP)
		door = append(door, attach.DoorServer{Protocol: jsonrpc.Headers(jsonrpc.Options{}), Serve: own.lsp.Serve})
	}
	if door != nil {
		own.leave = door.Open(h)
		s.servers.Store(h.Name(), own)
	}
}

// removeDoor takes the servers in front of a host away, if there are any. reason is why, for their
// clients.
func (s *services) removeDoor(host string, reason error) {
	if v, ok := s.servers.LoadAndDelete(host); ok {
		own := v.(*served)
		own.leave()
		own.close(reason)
	}
}

// close sends the clients away. A client that comes later is sent away for the same reason.
func (own *served) close(reason error) {
	if own.mcp != nil {
		own.mcp.Close(reason)
	}
	if own.lsp != nil {
		own.lsp.Close(reason)
	}
}

// offersChanged tells the MCP server of a host that the tools may have changed. It does not block.
func (s *services) offersChanged(host string) {
	if own, ok := s.servers.Load(host); ok && own.(*served).mcp != nil {
		own.(*served).mcp.Changed()
	}
}

// household returns the workbench of a host with what belongs to it, nil if it is not of VS Code.
func (s *services) household(h *supervisor.Host) *editor {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.editors {
		if e.hosts[h.Name()] != nil {
			return e
		}
	}
	return nil
}
