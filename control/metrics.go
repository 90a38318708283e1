package control

import "net/http"

// The media types of the answer to GET /metrics.
const (
	typeText        = "text/plain"
	typeOpenMetrics = "application/openmetrics-text"
)

// metrics responds with the figures of this program, in the format that the caller
// accepts.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request, _ struct{}) error {
	if s.opt.Metrics == nil {
		return &Error{Class: Unknown, Message: "this supervisor has no figures for Prometheus"}
	}
	if s.ended() {
		return closed()
	}
	s.opt.Metrics.ServeHTTP(w, r)
	return nil
}
