// Package sdk is what a Go program imports to be a host: a process that
// a supervisor starts, talks to, watches and restarts. It speaks hostsup's
// protocol 1 over the connection that the supervisor names in the environment.
//
//	s := sdk.New(sdk.Info{Name: "greeter", Version: "1.0"})
//	sdk.Handle(s, "greet", func(ctx context.Context, name string) (string, error) {
//		return "hello " + name, nil
//	})
//	if err := s.Serve(context.Background()); err != nil {
//		log.Fatal(err)
//	}
//
// # Requests and acknowledgements
//
// One goroutine, the receive loop, takes messages off the connection. What it
// does between two waits is a turn. A handler runs on a goroutine of its own,
// or with [Inline] on the loop itself. Before the loop waits again it
// acknowledges every request whose answer does not leave in the same turn: so
// the supervisor sees that the host is alive, however long its handlers take,
// and sees too when it is not. Whatever a turn produces leaves in one write.
//
// # Order
//
// Inline handlers run in the order in which their requests arrive, handlers of
// notifications in the order of the notifications, one after the other. There
// is no order between handlers on goroutines, nor between the three kinds.
// Items of a stream arrive in the order of the sends that returned; answers
// arrive in the order in which handlers return, or any other.
//
// # Calls
//
// A host calls its supervisor with [Server.Call], takes a result item by item with
// [Items], and tells it something with [Server.Notify].
//
// # What is bounded
//
// Handlers running at once ([WithMaxConcurrent]; more are acknowledged and
// wait), notifications waiting (1,024; then the loop waits), bytes waiting for
// a supervisor that reads slowly ([WithOutgoing]; then senders wait, and at
// last the loop, which is how the supervisor is slowed down in turn), the size
// of messages ([WithLimits]), and the time that an end may take ([WithDrain]).
// Requests that wait for a handler are bounded by the supervisor only, which
// is the side that is trusted here.
//
// # Errors and panics
//
// A *[codec.Error] that a handler returns is answered as it is. Another error
// is named by its method ErrorName() string, if it or an error that it wraps
// has one, else "Error", and carries the chain of what it wraps. A panic is
// answered as "Panic" with its stack, and the host lives on. Answers of
// cancelled requests are "Cancelled", whatever the handler returns.
//
// # Extensions
//
// A host may consist of parts that are switched on one by one, when they are
// needed, and off alone: [Extend]. Their methods are the host's; a call to one
// activates its extension first. Activate and Deactivate of one extension never
// run at the same time, nor does a handler of it before the one has returned or
// while the other runs. What is of another extension is not ordered by that; what
// one depends on is active before it. A crash is tied to the extension that was
// being activated or had a call in flight, and one that keeps crashing the host
// gets a process of its own, in which this program runs again.
//
// # The end
//
// A supervisor ends a host by a goodbye, by SIGTERM, or by going away; see
// [Server.ServeConn] for what each does. Handlers learn of it from
// [Server.Stopping] at once, and from their contexts when their time is over.
//
// # What it never does
//
// It never exits the process, prints (but to its logger), or reads or writes
// standard input and output, unless they are the connection; then descriptor 1
// becomes a copy of standard error, so that a stray print breaks nothing. It
// leaves no goroutine behind that it can end.
package sdk
