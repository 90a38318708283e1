package actors

// The Ask functions make the messages that package supervisor sends to the
// root of a tree: the exported messages, with a func in place of a sender.
// done is called once, on an actor's goroutine, and must not wait; it may not be
// called when the tree has ended before the message was sent.

// AskReady makes a [Ready].
func AskReady(done func(error)) any { return &awaitReady{done} }

// AskAdd makes an [AddHost].
func AskAdd(group string, h HostSpec, done func(error)) any { return &addHost{group, h, done} }

// AskRemove makes a [RemoveHost].
func AskRemove(host string, done func(error)) any { return &removeHost{host, done} }

// AskShutdown makes a [Shutdown].
func AskShutdown(done func(error)) any { return &shutdown{done} }

// AskGroups asks for the groups and their members. done is not called when the
// tree ends before it has read the message.
func AskGroups(done func([]GroupStatus)) any { return &getGroups{done} }
