package capture

import "time"

// Rules are those of the files of a log. They can be changed while it is used, see
// [Log.SetRules]. The zero value has the defaults.
type Rules struct {
	MaxSize int64 // bytes of one file; default 16 MiB. A single longer line still gets a file of its own
	Files   int   // files kept, the current one included; default 4

	// RotateEvery starts another file at the first line that comes so long after the
	// first one of the current file. 0: only MaxSize does.
	RotateEvery time.Duration

	// MaxAge is how long after its last line a file is removed, the current one too.
	// 0: however old it is.
	MaxAge time.Duration

	// Compress packs files other than the current one, if there is a [Packer].
	Compress bool

	// Journal hands lines to the Journal of the log's [Options] in place of the files.
	Journal bool

	// JSON writes each line as a JSON object instead of text.
	JSON bool
}

func (r Rules) withDefaults() Rules {
	if r.MaxSize <= 0 {
		r.MaxSize = 16 << 20
	}
	if r.Files <= 0 {
		r.Files = 4
	}
	return r
}

// tended reports whether files other than the current one need an [Archiver].
func (r Rules) tended() bool { return r.Compress || r.MaxAge > 0 }
