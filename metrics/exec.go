package metrics

import (
	"github.com/hostsup/hostsup/execserver/part"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// execServers adds the sums of exec servers.
func (m *Metrics) execServers(s *sheet) {
	servers, err := part.Statuses(&supervisor.Status{Parts: m.sup.Parts()})
	if err != nil {
		m.opt.Logger.Error("metrics", "error", err)
	}
	for i := range servers {
		st := &servers[i]
		x, server := &st.Metrics, label("server", st.Name)
		up := 0.0
		if st.State == lifecycle.Running {
			up = 1
		}
		for name, v := range map[string]float64{
			"up": up, "restarts_total": float64(st.Restarts),
			"connections": float64(x.Open), "connections_total": float64(x.Connections),
			"sessions": float64(x.OpenSessions), "sessions_total": float64(x.Sessions),
			"requests_total": float64(x.Requests), "bytes_received_total": float64(x.BytesIn), "bytes_sent_total": float64(x.BytesOut),
			"starts_total": float64(x.Starts), "start_failures_total": float64(x.StartFailures), "processes": float64(x.Processes),
			"output_bytes_total": float64(x.OutputBytes), "output_lost_bytes_total": float64(x.LostBytes),
		} {
			s.add("hostsup_exec_server_"+name, v, server)
		}
	}
}
