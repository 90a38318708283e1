package actors

import "github.com/hostsup/hostsup/internal/osprocess"

// Defect returns a message that makes the actor of a kind panic, as a defect
// in it would.
func Defect(kind string) any {
	switch kind {
	case "root":
		return &Ask{Order: &AddHost{}} // nobody to answer
	case "group":
		return &bootGroup{refs: []*Ref{nil}}
	case "host":
		return &lifeEnded{}
	case "life":
		return &connEnded{}
	case "process":
		return &osprocess.Start{}
	case "aftermath", "connection":
		return nil // there is none; a protocol can make a connection fail
	}
	panic("no actor of kind " + kind)
}
