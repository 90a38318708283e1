// Package capture keeps what a host prints, line by line: the last lines in memory,
// all of them in rotating files, each with the time, the life and the stream it came
// from.
//
// A [Log] belongs to one host and spans all its lives. A [Capture] reads one pipe of
// one life into it. Everything a host prints is untrusted: lines have a largest size,
// memory has a bound, and the output never decides a file name.
//
// # Lines
//
// A line ends at LF; one CR directly before that LF belongs to the line end. Any
// other byte, including CR, NUL and invalid UTF-8, is text and is kept unchanged, in
// [Line.Text] and in the file; encoding/json replaces invalid UTF-8 with U+FFFD. If
// the stream ends without LF, the last line is kept too (its CR then is text). A
// line with more than [MaxLine] bytes becomes several, never cut within a character;
// all but the last have [Line.More] set.
//
// # Order and concurrency
//
// All methods are safe for concurrent use. The lines of one stream keep their
// order. Lines of stdout and stderr are ordered as the two pipes were read, which
// is close to the order of writing but not exact: the kernel keeps no order between
// two pipes. The memory, the followers and the files have the same order, that of
// [Line.Seq]. The time of a line is when its end was read, taken once per read and
// truncated to microseconds.
//
// A line is in memory and with the followers before it is in the file, and in
// the file (passed to the kernel, not fsynced, see [Log.Sync]) before
// [Capture.Done] is closed. If the supervisor itself is killed, at most an unfinished
// line and the chunk being written are lost.
//
// # Memory
//
// Memory holds the last [Options.Ring] lines of the latest life, and as many of all
// earlier lives: a new life that prints a lot at its start does not push out the last
// lines of the crashed one. Nothing is allocated before the first line. A silent pipe
// costs a parked goroutine and no buffer; read buffers are shared, 4 KiB while a
// host prints little and up to 256 KiB while it is busy. As measured, a silent host
// with two streams holds 2.3 KiB of heap and two stacks of 2 KiB. Each stream has its
// own goroutine: sharing one would need a second poller beside the runtime's and save
// one of these stacks.
//
// # Blocking
//
// Followers never block a host: one that falls behind loses lines, and its next line
// counts them. Memory is read under a lock that is never held during a write to disk,
// so Tail, TailOfLife and Follow do not wait for a slow disk. A host does wait for a
// slow disk once its pipe is full, because the alternative is to lose lines. It does
// not wait for a disk that is full or cannot be written: such output is counted, kept
// in memory as usual, and the file is tried again later (see [Options.OnError]).
//
// # Files
//
// NAME.log is the current file, NAME.log.1 the one before it, and so on; with
// [Rules.Compress] those are NAME.log.1.gz and so on. One line is one line:
//
//	2026-11-21T12:00:00.000000Z 7 out text as it was printed
//
// UTC time in microseconds, the life, the stream (out, err, or note for
// remarks of the supervisor; with a + when the text continues in the stream's
// next line), one space, the text. With [Rules.JSON] a line is an object:
//
//	{"time":"2026-11-21T12:00:00.000000Z","host":"ts","life":7,"stream":"stdout","text":"text as it was printed"}
//
// with "more":true when the text continues, and U+FFFD for bytes that are not UTF-8.
// One file may hold lines of both forms. Files have mode 0600, their folder 0700.
// They rotate between lines, before they would grow over [Rules.MaxSize], and at the
// first line after [Rules.RotateEvery]. A log holds one open file from its first line
// until Close. One log at a time may write to a name.
//
// An [Archiver] compresses files beside the hosts, which never wait for it. It writes
// NAME.log.tmp, puts that on the disk and renames it, so that whatever ends in .gz is
// whole; if the supervisor is killed meanwhile, the original is still there. History
// reads compressed files too.
//
// This package never parses what a host prints, never sends a signal, and never
// changes a process.
package capture
