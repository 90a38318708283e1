package server

import (
	"context"

	"github.com/hostsup/hostsup/execserver/server/files"
	"github.com/hostsup/hostsup/execserver/wire"
)

// request takes one request; n is its size. Whatever does not wait for
// anything is answered before it returns.
func (c *conn) request(m *wire.Message, n int) {
	c.srv.count.requests.Add(1)
	c.begin()
	r := reply{c, m.ID}
	family, known := wire.FamilyOf(m.Method, c.ext)
	if !known {
		r.fail(wire.NoMethod(m.Method))
		return
	}
	if m.Method == wire.MethodInitialize {
		c.initialize(m.Params, r)
		return
	}
	call, bad := methods[m.Method](c, m.Params)
	switch {
	case bad != nil:
		r.fail(bad)
	case c.session == nil:
		r.fail(wire.InvalidRequest("client must call initialize before using %s methods", family))
	case !c.ready:
		r.fail(wire.InvalidRequest("client must send initialized before using %s methods", family))
	default:
		call(r)
	}
}

// method reads the params of a request and returns what is to be done.
type method func(c *conn, raw []byte) (func(reply), *wire.Error)

// on is a method with params P.
func on[P any](do func(*conn, *P, reply)) method {
	return func(c *conn, raw []byte) (func(reply), *wire.Error) {
		p := new(P)
		if err := wire.DecodeParams(raw, p, c.ext); err != nil {
			return nil, err
		}
		return func(r reply) { do(c, p, r) }, nil
	}
}

// plain is a method without params.
func plain(do func(*conn, reply)) method {
	return func(c *conn, raw []byte) (func(reply), *wire.Error) {
		if err := wire.DecodeParams(raw, nil, c.ext); err != nil {
			return nil, err
		}
		return func(r reply) { do(c, r) }, nil
	}
}

// reads is a method about files that changes nothing, with a result R.
func reads[P, R any](do func(*files.Files, context.Context, P) (R, *wire.Error)) method {
	return onFiles(false, func(f *files.Files, ctx context.Context, p P) (any, *wire.Error) {
		res, err := do(f, ctx, p)
		return &res, err
	})
}

// writes is one that changes something.
func writes[P any](do func(*files.Files, context.Context, P) *wire.Error) method {
	return onFiles(true, func(f *files.Files, ctx context.Context, p P) (any, *wire.Error) {
		return wire.Empty{}, do(f, ctx, p)
	})
}

// alters is one that changes something and has a result.
func alters[P, R any](do func(*files.Files, context.Context, P) (R, *wire.Error)) method {
	return onFiles(true, func(f *files.Files, ctx context.Context, p P) (any, *wire.Error) {
		res, err := do(f, ctx, p)
		return &res, err
	})
}

func onFiles[P any](change bool, do func(*files.Files, context.Context, P) (any, *wire.Error)) method {
	return on(func(c *conn, p *P, r reply) {
		c.fileLane().run(c, change, func(f *files.Files) { r.either(do(f, c.ctx, *p)) })
	})
}

// methods has all but initialize.
var methods map[string]method

func init() {
	methods = map[string]method{
		wire.MethodEnvironmentInfo:   plain(func(c *conn, r reply) { r.raw(c.srv.infoAnswer(r.id)) }),
		wire.MethodEnvironmentStatus: plain(func(_ *conn, r reply) { r.raw(statusAnswer(r.id)) }),

		wire.MethodProcessStart:      on((*conn).startProcess),
		wire.MethodProcessRead:       on((*conn).readProcess),
		wire.MethodProcessWrite:      on((*conn).writeProcess),
		wire.MethodProcessSignal:     on((*conn).signalProcess),
		wire.MethodProcessTerminate:  on((*conn).terminateProcess),
		wire.MethodProcessList:       plain((*conn).listProcesses),
		wire.MethodProcessResize:     on((*conn).resizeProcess),
		wire.MethodProcessCloseStdin: on((*conn).closeStdin),
		wire.MethodProcessAttach:     on((*conn).attachProcess),
		wire.MethodProcessDetach:     on((*conn).detachProcess),

		wire.MethodFSReadFile:        reads((*files.Files).ReadFile),
		wire.MethodFSWriteFile:       writes((*files.Files).WriteFile),
		wire.MethodFSCreateDirectory: writes((*files.Files).CreateDirectory),
		wire.MethodFSGetMetadata:     reads((*files.Files).GetMetadata),
		wire.MethodFSCanonicalize:    reads((*files.Files).Canonicalize),
		wire.MethodFSReadDirectory:   reads((*files.Files).ReadDirectory),
		wire.MethodFSWalk:            reads((*files.Files).Walk),
		wire.MethodFSRemove:          writes((*files.Files).Remove),
		wire.MethodFSCopy:            writes((*files.Files).Copy),
		wire.MethodFSOpen:            alters((*files.Files).Open),
		wire.MethodFSReadBlock:       reads((*files.Files).ReadBlock),
		wire.MethodFSWriteBlock:      writes((*files.Files).WriteBlock),
		wire.MethodFSClose:           writes((*files.Files).CloseHandle),
		wire.MethodFSWatchMissing:    alters((*files.Files).WatchMissing),

		wire.MethodHTTPRequest: on((*conn).httpRequest),
		wire.MethodHTTPCancel:  on((*conn).httpCancel),
	}
}

var readyStatus, _ = wire.AppendResult(nil, wire.IntID(0), &wire.EnvironmentStatus{Status: "ready"})

// statusAnswer is the answer to environment/status, without reflection: clients
// ask often.
func statusAnswer(id wire.ID) []byte {
	b := make([]byte, 0, 48)
	b = append(b, `{"id":`...)
	b = id.AppendJSON(b)
	return append(b, readyStatus[len(`{"id":0`):]...)
}

// maxFileWork is how many requests about files of one connection work at once.
const maxFileWork = 16

// fileLane has the requests about files of one connection take effect as if
// one came after the other: those that change something wait for all before
// them, and everything after them for them. The others run side by side.
type fileLane struct {
	fs     *files.Files
	change chan struct{}   // closed when the last change is done; nil: there was none
	since  []chan struct{} // those of the requests after it
	slots  chan struct{}
}

func (c *conn) fileLane() *fileLane {
	if c.files == nil {
		changed := func(m wire.FSMissingChanged) {
			if b, err := wire.AppendNotification(nil, wire.NotifyFSAppeared, &m); err == nil {
				c.respond(b)
			}
		}
		c.files = &fileLane{fs: files.New(files.Limits{Changed: changed}), slots: make(chan struct{}, maxFileWork)}
	}
	return c.files
}

func (l *fileLane) close() { l.fs.Close() }

// run does f in its turn, on a goroutine of its own unless it is the only one.
func (l *fileLane) run(c *conn, change bool, f func(*files.Files)) {
	done := make(chan struct{})
	var before []chan struct{}
	if l.change != nil {
		before = append(before, l.change)
	}
	if change {
		before = append(before, l.since...)
		l.change, l.since = done, nil
	} else {
		kept := l.since[:0]
		for _, d := range l.since {
			select {
			case <-d:
			default:
				kept = append(kept, d)
			}
		}
		l.since = append(kept, done)
	}
	c.spawn(func() {
		defer close(done)
		for _, b := range before {
			<-b
		}
		l.slots <- struct{}{}
		defer func() { <-l.slots }()
		f(l.fs)
	})
}

// settled runs f after all changes of files that were asked for before.
func (l *fileLane) settled(c *conn, f func()) {
	if l != nil && l.change != nil {
		select {
		case <-l.change:
		default:
			wait := l.change
			c.spawn(func() { <-wait; f() })
			return
		}
	}
	f()
}
