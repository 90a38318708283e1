// Package capture keeps what a host prints: the last lines in memory, all of
// them in rotating files, by line and with the time, the life and the stream
// each came from.
//
// A [Log] belongs to one host and lives over all its lives. A [Capture] reads
// one pipe of one life into it. Everything a host prints is untrusted bytes:
// its lines have a largest size, its memory a bound, and its bytes never
// decide a file name.
//
// # Lines
//
// A line ends at LF; one CR directly before that LF belongs to the line end.
// Any other byte, CR, NUL and bytes that are not UTF-8 among them, is text and
// is kept as it is, in [Line.Text] and in the file; encoding/json replaces
// what is not UTF-8 with U+FFFD. The last line is kept also when the stream
// ends without LF (its CR then is text). A line with more than [MaxLine] bytes
// becomes several, cut where no character is torn; all but the last have
// [Line.More] set.
//
// # Order and concurrency
//
// All methods are safe for concurrent use. The lines of one stream keep their
// order. The order between stdout and stderr is the order in which the two
// pipes were read, which is near the order of writing but cannot be exact: the
// kernel keeps none between two pipes. The memory, the followers and the files
// have the same order, that of [Line.Seq]. The time of a line is when its end
// was read, taken once per read and cut to microseconds.
//
// A line is in memory and with the followers before it is in the file, and in
// the file (handed to the kernel, not fsynced, see [Log.Sync]) before
// [Capture.Done] is closed. What stays behind if the supervisor itself is
// killed is at most a line not ended yet and the chunk being written.
//
// # Memory
//
// In memory are the last [Options.Ring] lines of the latest life, and as many
// of all lives before it: a new life that prints a lot at its start does not
// push out the last words of the crashed one. Nothing is set aside before the
// first line. A pipe that is silent costs a parked goroutine and no buffer;
// read buffers are shared, 4 KiB while a host prints little and up to 256 KiB
// while it is busy. Measured, a silent host with two streams holds 2.3 KiB of
// heap and two stacks of 2 KiB. Each stream has a goroutine of its own: sharing
// one would need a second poller beside the runtime's and save one of these
// stacks.
//
// # Who waits for whom
//
// Followers never hold up a host: one that falls behind loses lines and is
// told how many. Memory is read under a lock that is never held during a write
// to disk, so Tail, TailOfLife and Follow do not wait for a slow disk. A host
// does wait for a slow disk once its pipe is full, since the alternative is to
// lose lines; it does not wait for one that is full or cannot be written: such
// output is counted, kept in memory as usual, and the file is tried again
// later (see [Options.OnError]).
//
// # Files
//
// NAME.log is the current file, NAME.log.1 the one before it, and so on. One
// line is one line:
//
//	2026-11-21T12:00:00.000000Z 7 out text as it was printed
//
// UTC time in microseconds, the life, the stream (out, err, or note for
// remarks of the supervisor; with a + when the text goes on in the stream's
// next line), one space, the text. When very many lines come at once (from the
// 65th of one read on) only every 64th is written so; the others begin with a
// space, then the text, and share the time, the life and the stream of the line
// above. A file never begins with such a line. Files have mode 0600, their folder 0700.
// They rotate between lines, before they would grow over [Options.MaxSize]. A
// log holds one open file from its first line until Close. One log at a time
// may write to a name.
//
// This package never parses what a host says, never sends a signal, and never
// changes a process.
package capture
