package pending

// Op says what has happened.
type Op uint8

// Events.
const (
	Send     Op = iota // Entry asks for an id, and nothing is written before its frame is: Register and Wrote in one
	Register           // Entry asks for an id, and its frame is to follow
	Wrote              // the frame of request ID is in the outbox, and its writer will not touch it any more
	Unsent             // Entry's writer gives up, and will not touch it any more
	Drop               // Unsent, and Entry, or what Send has given ID, is taken out of the table
	Cancel             // Entry's caller has left
	Answer             // the peer answers request ID
	Ack                // the peer has picked up request ID
	Item               // the peer sends item N of request ID
	Progress           // the peer says that it works on request ID
	Grant              // Entry's caller has taken N items
	Drain              // no new requests from now on; say when no caller waits
	CutOff             // waiting for callers is over
	Close              // the connection has ended
	Leave              // Entry, which Close has listed, is to go to another connection
)

// Event is something that has happened. Which fields count depends on the Op.
type Event struct {
	Op    Op
	ID    uint32
	N     uint32
	Entry *Entry
}

// Fault is what the peer has done wrong. It ends the connection.
type Fault uint8

// Faults.
const (
	NoFault    Fault = iota
	NeverMade        // the id was never given
	Answered         // the request was answered before
	NotAllowed       // an item of a request whose caller wants none
	NoCredit         // an item beyond the credit
	Disorder         // an item out of order; N says which is next
)

// Effect is one thing to do or to know, as a bit of Effects.Do.
type Effect uint16

// Effects that are bits.
const (
	Closed     Effect = 1 << iota // Send, Register: the connection takes no such request
	Overloaded                    // Send, Register: the peer owes N answers to callers that have left
	Alone                         // Send, Register: no other request is open
	Sent                          // Wrote: this is an open request
	Gone                          // Wrote: the caller has left meanwhile, of which the peer is to be told
	Orphaned                      // Wrote, Unsent, Drop: the writer takes the request to another connection
	Settle                        // Answer: Entry has its outcome
	Deliver                       // Item, Progress: it is for Entry
	TellCancel                    // Cancel: the peer is told
	GiveCredit                    // Grant: the peer is allowed N more items
	Drained                       // no caller waits any more
	Free                          // Leave: the request may go
)

// Has says whether an effect is among others.
func (e Effect) Has(one Effect) bool { return e&one != 0 }

// Effects is what follows from an event.
type Effects struct {
	Do    Effect
	Fault Fault
	ID    uint32 // Send, Register: what was given
	N     uint32 // see the bits and faults
	Since int64  // Settle: when the request was written; 0: it was not
	Entry *Entry // that the event is about
}
