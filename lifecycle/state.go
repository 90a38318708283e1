package lifecycle

// State is the state of a host.
type State string

// The states of a host; which may follow which is in [Allowed].
const (
	Stopped      State = "stopped"      // configured, stopped, waiting for a dependency, or ended by itself
	Starting     State = "starting"     // process spawned, handshake running
	Running      State = "running"      // handshake done
	Unresponsive State = "unresponsive" // no sign of life while something is unacknowledged
	Crashed      State = "crashed"      // ended in a way nobody asked for
	Restarting   State = "restarting"   // the rules said again; back-off runs
	Failed       State = "failed"       // the budget is spent, or a dependency failed
	Stopping     State = "stopping"     // goodbye, signal, SIGKILL
)

// States lists all states in the order of a life.
func States() []State {
	return []State{Stopped, Starting, Running, Unresponsive, Crashed, Restarting, Failed, Stopping}
}

// Valid says whether s is one of the eight states.
func (s State) Valid() bool { _, ok := transitions[s]; return ok }

// Up says whether a life of the host may be answering calls: running or
// unresponsive.
func (s State) Up() bool { return s == Running || s == Unresponsive }

// AtRest says whether a host in s has no life and gets none by itself.
func (s State) AtRest() bool { return s == Stopped || s == Failed }

// transitions is the one table of what may follow what.
var transitions = map[State][]State{
	Stopped:      {Starting, Failed},                                     // failed: a dependency failed
	Starting:     {Running, Crashed, Stopping},                           //
	Running:      {Unresponsive, Crashed, Stopping, Stopped, Restarting}, // the last two: an own exit with a success status
	Unresponsive: {Running, Crashed, Stopping},                           //
	Crashed:      {Restarting, Failed, Stopped},                          // stopped: policy never
	Restarting:   {Starting, Stopping, Failed},                           // failed: a dependency failed
	Failed:       {Starting, Stopped},                                    //
	Stopping:     {Stopped, Failed},                                      // failed: its processes do not end
}

// Allowed says whether a host may go from one state to the other directly.
func Allowed(from, to State) bool {
	for _, s := range transitions[from] {
		if s == to {
			return true
		}
	}
	return false
}
