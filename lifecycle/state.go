package lifecycle

// State is the state of a host.
type State string

// The states of a host; which may follow which is in [Allowed].
const (
	Stopped      State = "stopped"
	Starting     State = "starting"
	Running      State = "running"
	Unresponsive State = "unresponsive"
	Crashed      State = "crashed"
	Restarting   State = "restarting"
	Failed       State = "failed"
	Stopping     State = "stopping"
)
