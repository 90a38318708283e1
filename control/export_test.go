package control

import "net/http"

// Handler returns what serves the requests of a listener, without one. a is nil for that of
// a control socket.
func (s *Server) Handler(a *Access) http.Handler { return s.newDoor(a).http.Handler }
