package metrics

import (
	"cmp"
	"slices"
)

// Family describes the metrics of one name.
type Family struct {
	Name   string
	Type   string   // counter, gauge or histogram
	Labels []string // in alphabetical order
	Help   string
}

const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

var (
	ofHost   = []string{"group", "host"}
	ofServer = []string{"server"}
)

var families = []Family{
	{"hostsup_build_info", gauge, []string{"goversion", "version"}, "Always 1; the labels say what the supervisor was built from."},
	{"hostsup_config_last_reload_success_timestamp_seconds", gauge, nil, "When the configuration in force was read, in Unix time."},
	{"hostsup_config_last_reload_successful", gauge, nil, "0 if the configuration that was read last is not valid, and so not in force."},
	{"hostsup_events_missed_total", counter, nil, "Events that readers of the history missed because they fell behind, once for each reader."},
	{"hostsup_events_total", counter, nil, "Events of the history."},

	{"hostsup_trace_spans_dropped_total", counter, nil, "Spans that could not be sent, or for which there was no room. Absent without traces."},
	{"hostsup_trace_spans_exported_total", counter, nil, "Spans that the receiver has taken. Absent without traces."},

	{"hostsup_host_calls_total", counter, ofHost, "Calls made to the host."},
	{"hostsup_host_cpu_seconds_total", counter, ofHost, "Processor time of the host's process tree. It starts again with each life."},
	{"hostsup_host_crashes_total", counter, ofHost, "Crashes of the host."},
	{"hostsup_host_info", gauge, []string{"group", "host", "protocol", "sandbox"}, "Always 1; the labels describe the host. sandbox is the level of confinement in force."},
	{"hostsup_host_log_bytes_total", counter, ofHost, "Bytes of text that are in the host's log files, or were sent to the journal."},
	{"hostsup_host_log_lost_lines_total", counter, ofHost, "Lines that the host printed and that could not be written."},
	{"hostsup_host_memory_bytes", gauge, ofHost, "Memory of the host's process tree."},
	{"hostsup_host_noise_lines_total", counter, ofHost, "Lines of text that the host wrote where messages belong."},
	{"hostsup_host_notifications_coalesced_total", counter, ofHost, "Notifications to the host that a throttle replaced by later ones."},
	{"hostsup_host_notifications_dropped_total", counter, ofHost, "Notifications to the host that a throttle held when the life ended."},
	{"hostsup_host_pending_requests", gauge, ofHost, "Calls that wait for the host's answer."},
	{"hostsup_host_response_seconds", histogram, ofHost, "Time from the sending of a call to the host's answer. Absent until the host has answered a call."},
	{"hostsup_host_restarts_total", counter, ofHost, "Lives that the restart rules of the host or of its group have started."},
	{"hostsup_host_start_time_seconds", gauge, ofHost, "When the host's process was started, in Unix time. Absent without a process."},
	{"hostsup_host_state", gauge, []string{"group", "host", "state"}, "1 for the state that the host is in, and 0 for the others."},

	{"hostsup_exec_server_bytes_received_total", counter, ofServer, "Bytes of the messages that the exec server received."},
	{"hostsup_exec_server_bytes_sent_total", counter, ofServer, "Bytes of the messages that the exec server sent."},
	{"hostsup_exec_server_connections", gauge, ofServer, "Connections that are open."},
	{"hostsup_exec_server_connections_total", counter, ofServer, "Connections that were opened."},
	{"hostsup_exec_server_output_bytes_total", counter, ofServer, "Bytes that processes put out."},
	{"hostsup_exec_server_output_lost_bytes_total", counter, ofServer, "Bytes that processes put out and that were dropped before the client had them."},
	{"hostsup_exec_server_processes", gauge, ofServer, "Processes that are not closed."},
	{"hostsup_exec_server_requests_total", counter, ofServer, "Requests of clients."},
	{"hostsup_exec_server_restarts_total", counter, ofServer, "Restarts of the exec server."},
	{"hostsup_exec_server_sessions", gauge, ofServer, "Sessions, also those without a connection."},
	{"hostsup_exec_server_sessions_total", counter, ofServer, "Sessions that were opened."},
	{"hostsup_exec_server_start_failures_total", counter, ofServer, "Processes that could not be started."},
	{"hostsup_exec_server_starts_total", counter, ofServer, "Processes that were started."},
	{"hostsup_exec_server_up", gauge, ofServer, "1 if the exec server listens."},
}

// Families lists what a tree's figures can have, by name, but for those of a Registry.
func Families() []Family {
	list := slices.Clone(families)
	slices.SortFunc(list, func(a, b Family) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
