package codec

// Stacker is a [Session] of a protocol with peers that wait inside of a request
// for its answer, and meanwhile make others, each from within the one before: they
// take answers in the reverse order only, as a call stack does.
type Stacker interface {
	Session
	// Stacks says whether the peer has to be taken for one of those in a request
	// of this method. Its answer is then held back until all later ones of that
	// kind are answered. Safe for concurrent use.
	Stacks(method string) bool
}
