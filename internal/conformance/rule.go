package conformance

import "slices"

// Level is how strictly a rule binds a host.
type Level string

// The levels.
const (
	Required Level = "required" // every host, as far as it has the capability and the methods that the rule takes
	Advised  Level = "advised"  // the page allows a host not to keep it
)

// Rule is one rule of docs/protocol.md.
type Rule struct {
	ID       string // letter of the section and number, such as "S3"
	What     string // what holds of a host that keeps it, in a few words
	Sentence string // as it stands in docs/protocol.md
	Level    Level
	Needs    string // the capability that must be in force; "": none
	Method   string // of the host under test that it takes most; "": none
	Only     string // the one transport that it is about; "": all

	play func(p *play) // nil: the rule binds hostsup, and is played by a scripted host in the tests
}

// sections are the parts of the table, in the order of docs/protocol.md.
var sections = []struct {
	title string
	rules []Rule
}{
	{"Frames", frameRules},
	{"Opening", openingRules},
	{"Capabilities", capabilityRules},
	{"Ids", idRules},
	{"Requests, acks, pings", answerRules},
	{"Cancel", cancelRules},
	{"Streams", streamRules},
	{"Trace", traceRules},
	{"Errors", errorRules},
	{"The end", endRules},
	{"Transports", transportRules},
	{"Extensions", extensionRules},
	{"The supervisor", supervisorRules},
}

// Rules returns the whole table in the order in which it is played, with the rules that bind
// hostsup at the end, which [Run] does not play.
func Rules() []Rule {
	var all []Rule
	for _, s := range sections {
		all = slices.Concat(all, s.rules)
	}
	return all
}
