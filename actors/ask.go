package actors

import "github.com/hostsup/hostsup/lifecycle/record"

// Order is a message to the root of a tree that a *[Done] answers.
type Order interface{ id() any }

func (m *Command) id() any     { return m.ID }
func (m *AddHost) id() any     { return m.ID }
func (m *RemoveHost) id() any  { return m.ID }
func (m *ReplaceHost) id() any { return m.ID }
func (m *Ready) id() any       { return m.ID }
func (m *Shutdown) id() any    { return m.ID }
func (m *Ping) id() any        { return m.ID }

// Ask is an Order with a func in place of a sender. Done is called once, on an actor's
// goroutine, and must not wait; it may not be called when the tree has ended before the
// message was sent.
type Ask struct {
	Order Order
	Done  func(error)
}

// AskGroups asks for the groups and their members. done is not called when the
// tree ends before it has read the message.
func AskGroups(done func([]record.GroupStatus)) any { return &getGroups{done} }
