package codec

// Announcer is a [Session] whose peer may say in the handshake which extensions
// it consists of.
type Announcer interface {
	Session
	// Announced returns them, valid once the handshake is done. false: the peer
	// does not speak of extensions, or was not asked to.
	Announced() ([]Announced, bool)
}

// Announced is what a host says of one of its extensions.
type Announced struct {
	ID        string // publisher.name
	Version   string
	Events    []string // activation events, besides those of the methods
	DependsOn []string // ids of what has to be active before it
	Methods   []string // that it answers
}
