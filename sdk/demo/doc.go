// Package demo is a host to try a supervisor on: it answers, streams, sleeps,
// hangs, fails, crashes, leaves children behind and breaks the protocol, all
// on request. The program hostsup carries it, and tests run it as a process.
//
// # Methods
//
// Params are maps with the keys shown; all of them may be left out.
//
//	echo     any value      the params
//	add      [a, b, …]      the sum
//	pid                     the process id, as the process sees it
//	sleep    {ms}           nil, after that time; acknowledged at once, can be cancelled
//	hang     {ms}           nil, after that time, with the receive loop held: no acks,
//	                        no pings, nothing; without ms until the host is told to end
//	fail     {message}      an error named DemoError with code, stack, data and a cause
//	exit     {code}         none: the process exits, with code 1 unless told otherwise
//	crash    {signal}       none: the process dies by the signal, "SIGSEGV", "segv" or 11;
//	                        SIGABRT unless told otherwise. After SIGSTOP and SIGCONT: nil
//	stream   {n, ms}        n items, 0 to n-1, that many ms between two; their list for a
//	                        caller that takes no items
//	print    {stdout, stderr, raw}
//	                        nil, when the texts are printed, each with a newline unless
//	                        raw is true
//	spawn    {setsid}       the pid of a child that only sleeps, is deaf to SIGTERM, SIGHUP
//	                        and SIGINT, holds stdout and stderr open and is left behind,
//	                        with setsid in a session of its own
//	garbage  {kind}         none: bytes that break the protocol, see [Kinds]
//
// The notification print does the same as the request. Every other
// notification is printed on stdout, as notification "METHOD": PARAMS.
//
// # Extensions
//
// Where the supervisor's configuration speaks of extensions the host has four,
// which are switched on and off one by one, and their methods with them:
//
//	demo.words    words.count    text      how many words it has
//	demo.greeter  greeter.greet  name      a greeting; it depends on demo.words
//	demo.clock    clock.ticks              how often it has ticked, a hundred times a second
//	demo.moody    moody.run      {mood}    "fine", or what the mood is: fail, panic, wait,
//	                                       hang, exit, abort, overflow, throw (a panic in a
//	                                       goroutine), beside (one that is caught)
//
// demo.words and demo.greeter are for the event onLanguage:plaintext, too. The
// host's init can have moods for demo.moody's ways in and out: {"demo.moody":
// {"activate": "fail", "deactivate": "hang"}}.
//
// # Ways to start
//
// The environment variable HOSTSUP_DEMO_START makes [Main] start in one of
// the ways of [Starts] that a supervisor has to cope with.
//
// # What it never does
//
// It is no example of good manners: crash, exit and garbage mean the process
// they run in. The demo host takes its orders from its supervisor only.
package demo
