package native

import (
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

// Bounds of what a host announces: the other side compares all of it with each
// other.
const (
	// MaxExtensions is how many extensions a host may announce.
	MaxExtensions = 1000
	// MaxAnnouncedNames is how many events, dependencies and methods these may have,
	// all together.
	MaxAnnouncedNames = 10_000
)

// Params and results of the requests about extensions.
type (
	// Activate asks a host to switch an extension on. What it depends on is active.
	Activate struct {
		ID      string `msgpack:"id"`
		Event   string `msgpack:"event"`   // why
		Startup bool   `msgpack:"startup"` // it belongs to the start, not to something that was done later
	}
	// Activated is the answer of a host that has done so.
	Activated struct {
		TookMS float64 `msgpack:"took_ms"`
	}
	// Deactivate asks a host to switch an extension off.
	Deactivate struct {
		ID        string `msgpack:"id"`
		TimeoutMS int64  `msgpack:"timeout_ms"`
	}
	// Need asks the supervisor for an extension that has been called.
	Need struct {
		ID    string `msgpack:"id"`
		Event string `msgpack:"event"`
	}
	// Uncaught tells of an error that nobody has asked for.
	Uncaught struct {
		ID    string `msgpack:"id"`
		Error struct {
			Name    string `msgpack:"name"`
			Message string `msgpack:"message"`
			Stack   string `msgpack:"stack"`
		} `msgpack:"error"`
	}
)

// Announced is that of [codec.SessionFeatures].
func (s *Session) Announced() ([]codec.Announced, bool) { return s.announced, s.announces }

// appendLiving says who lives in the process.
func appendLiving(b []byte, h codec.Hello) []byte {
	if h.Extended && h.Extensions == nil {
		return mpack.AppendNil(b)
	}
	return appendTexts(b, h.Extensions)
}

func appendTexts(b []byte, list []string) []byte {
	b = mpack.AppendArray(b, len(list))
	for _, s := range list {
		b = mpack.AppendString(b, s)
	}
	return b
}

func appendAnnounced(b []byte, list []codec.Announced) []byte {
	b = mpack.AppendArray(b, len(list))
	for _, x := range list {
		b = mpack.AppendMap(b, 5)
		b = mpack.AppendString(mpack.AppendString(b, "id"), x.ID)
		b = mpack.AppendString(mpack.AppendString(b, "version"), x.Version)
		b = appendTexts(mpack.AppendString(b, "events"), x.Events)
		b = appendTexts(mpack.AppendString(b, "depends_on"), x.DependsOn)
		b = appendTexts(mpack.AppendString(b, "methods"), x.Methods)
	}
	return b
}

// announced takes a list of extensions.
func (f *fields) announced() []codec.Announced {
	if f.c.Nil() {
		return nil
	}
	n, valid := f.c.Array()
	if !valid {
		f.fail()
		return nil
	}
	if n > MaxExtensions {
		f.err = codec.Faultf(codec.ErrShape, -1, nil, "%s: %s: %d of them, %d at most", f.of, f.key, n, MaxExtensions)
		return nil
	}
	out := []codec.Announced{}
	names := 0
	for range n {
		n, valid := f.c.Map()
		if !valid {
			f.fail()
			return nil
		}
		var x codec.Announced
		in := &fields{c: f.c, left: n, of: f.of + ": " + f.key}
		for in.next() {
			switch in.key {
			case "id":
				x.ID = in.text()
			case "version":
				x.Version = in.text()
			case "events":
				x.Events = in.texts()
			case "depends_on":
				x.DependsOn = in.texts()
			case "methods":
				x.Methods = in.texts()
			default:
				in.skip()
			}
		}
		if in.err != nil {
			f.err = in.err
			return nil
		}
		f.c = in.c
		f.c.Close()
		if names += len(x.Events) + len(x.DependsOn) + len(x.Methods); names > MaxAnnouncedNames {
			f.err = codec.Faultf(codec.ErrShape, -1, nil, "%s: %s: over %d events, dependencies and methods", f.of, f.key, MaxAnnouncedNames)
			return nil
		}
		out = append(out, x)
	}
	f.c.Close()
	return out
}

// texts takes a list of strings.
func (f *fields) texts() []string {
	if f.c.Nil() {
		return nil
	}
	n, valid := f.c.Array()
	if !valid {
		f.fail()
		return nil
	}
	out := []string{}
	for range n {
		if f.c.Peek() != "str" {
			if _, valid := f.c.Str(0); !valid {
				f.fail()
			}
			return nil
		}
		out = append(out, text(&f.c, maxName))
	}
	f.c.Close()
	return out
}
