package vscode

import (
	"fmt"
	"strings"

	"github.com/hostsup/hostsup/codec"
)

// Exit codes of the extension host; those up to 13 are node's.
const (
	exitVersionMismatch = 55
	exitUnexpectedError = 81
)

// nodeExits explains the exit codes of node. Those of [startExits] have that meaning
// only while node starts.
var nodeExits = map[int]string{
	3:  "node cannot parse itself",
	4:  "node failed to evaluate itself",
	5:  "a fatal error of V8",
	6:  "node's handler of uncaught errors is none",
	7:  "node's handler of uncaught errors failed",
	9:  "node was given an invalid argument, or something called process.reallyExit(9)",
	10: "node failed at its start",
	12: "node was given a bad inspector address",
	13: "node ended while something was awaited that could not come any more",
}

// startExits are the codes with which node ends while it starts. Once the host has
// spoken, only a call of the process itself can end it with one of them.
var startExits = map[int]bool{3: true, 4: true, 9: true, 10: true, 12: true}

// What node prints when it aborts.
const (
	heapLimit   = "JavaScript heap out of memory"
	nodeAborted = "node::Abort"
)

// Explain implements Explain of [codec.Features]. The end is final if the commit in the
// init data is that of another build: another start does not change that.
func (*Protocol) Explain(e codec.End) (meaning string, final bool) {
	switch {
	case e.Signal != 0:
		return explainSignal(e), false
	case e.Code == exitVersionMismatch && !e.Ready:
		return "it is another build than the commit in its init data names", true
	case e.Code == exitUnexpectedError:
		return "the extension host met an unexpected error", false
	case e.Code == 0 && e.Ready:
		return "nobody had told it to: it took its connection for closed, or its supervisor for gone, or something called process.reallyExit", false
	case e.Code == 0:
		return "it could not come to its socket, or was told nothing there", false
	case e.Code == 1 && !e.Ready:
		return "an error that nothing caught, before it was ready", false
	case e.Ready && startExits[e.Code]:
		return fmt.Sprintf("something in it called process.exit or process.reallyExit with %d", e.Code), false
	}
	return nodeExits[e.Code], false
}

func explainSignal(e codec.End) string {
	for _, line := range e.Output {
		if i := strings.Index(line, heapLimit); i >= 0 {
			return heapLimit
		}
	}
	switch e.Signal {
	case 6:
		for _, line := range e.Output {
			if strings.Contains(line, nodeAborted) || strings.Contains(line, "FATAL ERROR") {
				return fmt.Sprintf("node aborted: %.200s", line)
			}
		}
		return "something in it called abort"
	case 5, 4:
		return "a fatal error of V8"
	case 11, 7:
		return "native code crashed"
	}
	return ""
}
