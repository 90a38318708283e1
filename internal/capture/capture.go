package capture

import (
	"os"
	"time"
)

// Stream names where a line came from.
type Stream uint8

// The two streams.
const (
	Stdout Stream = 1
	Stderr Stream = 2
)

// Line is one captured line, without its newline. Lines over 64 KiB are split.
type Line struct {
	Seq    uint64    `json:"seq"` // per log, from 1, without gaps
	Time   time.Time `json:"time"`
	Life   uint64    `json:"life"`
	Stream Stream    `json:"stream"`
	Text   string    `json:"text"`
	Lost   uint64    `json:"lost,omitempty"` // followers: lines missed just before this one
}

// Options of a Log.
type Options struct {
	Dir     string // folder of the files; "" keeps the ring only
	Name    string // base name: NAME.log, NAME.log.1, …
	MaxSize int64  // bytes of one file; default 16 MiB
	Files   int    // files kept, the current one included; default 4
	Ring    int    // lines kept in memory; default 200
}

// Log is the captured output of one host over all its lives: a ring in memory
// and rotating files. Safe for concurrent use.
type Log struct{}

func New(opt Options) *Log { return &Log{} }

// Capture reads r (a pipe's read end) to EOF on a goroutine of its own.
func (l *Log) Capture(r *os.File, s Stream, life uint64) *Capture { return nil }

// Tail returns the last n lines, oldest first.
func (l *Log) Tail(n int) []Line { return nil }

// Close ends followers and closes the file.
func (l *Log) Close() error { return nil }

// Capture is one stream being read.
type Capture struct{}

// Done is closed at EOF, a read error or Stop.
func (c *Capture) Done() <-chan struct{} { return nil }

// Stop ends reading, after taking what is in the pipe already.
func (c *Capture) Stop() {}
