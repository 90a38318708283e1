package show

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/execserver/part"
	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/lifecycle"
)

var execServerColumns = []column{
	{title: "EXEC SERVER"}, {title: "STATE"}, {title: "URL", spare: 1}, {title: "UPTIME", right: true, spare: 2},
	{title: "SESSIONS", right: true, spare: 3}, {title: "PROCESSES", right: true, spare: 3}, {title: "STARTS", right: true, spare: 5},
	{title: "REQUESTS", right: true, spare: 6}, {title: "OUTPUT", right: true, spare: 7}, {title: "LOST", right: true, spare: 4},
	{title: "RESTARTS", right: true, spare: 8}, {title: "REASON"},
}

func (s Screen) execServers(w io.Writer, list []part.Status) error {
	rows := make([][]cell, len(list))
	for i, e := range list {
		m, uptime, reason := e.Metrics, none, ""
		if e.State == lifecycle.Running {
			uptime = Span(s.Now.Sub(e.Since))
		}
		if e.Reason != nil {
			reason = Clean(*e.Reason)
		}
		if e.RetryInSeconds != nil {
			reason += "; next start in " + Span(seconds(*e.RetryInSeconds))
		}
		rows[i] = []cell{
			{text: Clean(e.Name)}, {string(e.State), StateStyle(e.State)}, {text: Clean(e.URL)}, {text: uptime},
			{text: strconv.Itoa(m.OpenSessions)}, {text: strconv.FormatInt(m.Processes, 10)}, {text: strconv.FormatUint(m.Starts, 10)},
			{text: strconv.FormatUint(m.Requests, 10)}, {text: Bytes(int64(m.OutputBytes))}, {text: Bytes(int64(m.LostBytes))},
			{text: strconv.FormatUint(e.Restarts, 10)}, {text: reason},
		}
	}
	return s.apart(w, execServerColumns, rows)
}

var sessionColumns = []column{
	{title: "EXEC SERVER", spare: 3}, {title: "SESSION"}, {title: "CLIENT", spare: 2}, {title: "CONNECTION", spare: 1},
	{title: "PROCESS", spare: 4}, {title: "PID", right: true, spare: 5}, {title: "STATE"}, {title: "AGE", right: true, spare: 6}, {title: "COMMAND"},
}

// fewProcesses is how many processes of exec servers are shown in the general status.
const fewProcesses = 20

// Sessions writes the sessions of exec servers with their processes: all of them, or
// running ones up to what a screen takes.
func (s Screen) Sessions(w io.Writer, list []part.Status, all bool) error {
	var rows [][]cell
	left := 0
	for _, e := range list {
		for _, se := range e.Sessions {
			connection := "attached"
			switch {
			case se.Detached != nil:
				connection = "none for " + Span(s.Now.Sub(*se.Detached))
			case se.Peer != nil:
				connection = Clean(*se.Peer)
			}
			id := Clean(se.ID)
			id = id[:min(len(id), 8)]
			row := func(process, pid string, state cell, age, command string) {
				rows = append(rows, []cell{{text: Clean(e.Name)}, {text: id}, {text: Clean(se.Client)}, {text: connection},
					{text: process}, {text: pid}, state, {text: age}, {text: command}})
			}
			shown := 0
			for _, p := range se.Processes {
				switch {
				case !all && p.State == server.ProcessClosed:
					continue
				case !all && len(rows) >= fewProcesses:
					left++
					continue
				}
				shown++
				pid := none
				if p.PID != nil {
					pid = strconv.Itoa(*p.PID)
				}
				state := cell{string(p.State), processStyle(p.State)}
				if p.Paused {
					state = cell{"paused", Yellow}
				}
				if p.ExitCode != nil {
					state.text += fmt.Sprintf(" (%d)", *p.ExitCode)
				}
				row(cut(Clean(p.ID), 16), pid, state, Span(s.Now.Sub(p.Since)), Clean(commandText(p.Command)))
			}
			for _, l := range se.Left {
				shown++
				pids := make([]string, len(l.PIDs))
				for i, pid := range l.PIDs {
					pids[i] = strconv.Itoa(pid)
				}
				row("left", strings.Join(pids, ","), cell{"running", Green}, none, "left by "+Clean(commandText(l.Command)))
			}
			if shown == 0 {
				row(none, none, cell{text: none}, Span(s.Now.Sub(se.Since)), "")
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if err := s.apart(w, sessionColumns, rows); err != nil || left == 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "and %d more: hostsup status NAME shows all of one exec server\n", left)
	return err
}

func processStyle(st server.ProcessState) Style {
	if st == server.ProcessRunning {
		return Green
	}
	return Dim
}
