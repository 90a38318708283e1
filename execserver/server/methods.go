package server

import (
	"strings"

	"github.com/hostsup/hostsup/execserver/server/files"
	"github.com/hostsup/hostsup/execserver/wire"
)

// request carries out one request. A request that need not wait is answered before
// request returns.
func (c *conn) request(m *wire.Message) {
	c.srv.count.requests.Add(1)
	c.begin()
	r := reply{c: c, id: m.ID}
	if m.Method == wire.MethodInitialize {
		c.initialize(m.Params, r)
		return
	}
	decode := methods[m.Method]
	if decode == nil && c.ext {
		decode = extensionMethods[m.Method]
	}
	if decode == nil {
		r.fail(wire.NoMethod(m.Method))
		return
	}
	call, bad := decode(c, m.Params)
	switch {
	case bad != nil:
		r.fail(bad)
	case c.session == nil:
		r.fail(wire.InvalidRequest("client must call initialize before using %s methods", family(m.Method)))
	case !c.ready:
		r.fail(wire.InvalidRequest("client must send initialized before using %s methods", family(m.Method)))
	default:
		call(r)
	}
}

// family returns what a method belongs to, in the words of the errors that tell a
// client to initialize first.
func family(method string) string {
	switch family, _, _ := strings.Cut(method, "/"); family {
	case "fs":
		return "filesystem"
	case "http":
		return family
	case "environment":
		return strings.ReplaceAll(method, "/", " ")
	}
	return "exec"
}

// method reads the params of a request and returns what carries it out.
type method func(c *conn, raw []byte) (func(reply), *wire.Error)

// on returns a method with params P.
func on[P any](do func(*conn, *P, reply)) method {
	return func(c *conn, raw []byte) (func(reply), *wire.Error) {
		p := new(P)
		if err := wire.DecodeParams(raw, p, c.ext); err != nil {
			return nil, err
		}
		return func(r reply) { do(c, p, r) }, nil
	}
}

// plain returns a method without params.
func plain(do func(*conn, reply)) method {
	return func(c *conn, raw []byte) (func(reply), *wire.Error) {
		if err := wire.DecodeParams(raw, nil, c.ext); err != nil {
			return nil, err
		}
		return func(r reply) { do(c, r) }, nil
	}
}

// onFiles returns a method about files.
func onFiles(name string) method {
	return func(c *conn, raw []byte) (func(reply), *wire.Error) {
		q, err := files.Decode(name, raw, c.ext)
		if err != nil {
			return nil, err
		}
		return func(r reply) { c.fileLane().request(c, name, q, raw, r) }, nil
	}
}

// methods are those that need no extension, without initialize; extensionMethods
// are the others.
var methods, extensionMethods map[string]method

func init() {
	methods = map[string]method{
		wire.MethodEnvironmentInfo:   plain(func(c *conn, r reply) { r.raw(withID(c.srv.infoText, r.id)) }),
		wire.MethodEnvironmentStatus: plain(func(_ *conn, r reply) { r.raw(withID(readyStatus, r.id)) }),

		wire.MethodProcessStart:     on((*conn).startProcess),
		wire.MethodProcessRead:      on((*conn).readProcess),
		wire.MethodProcessWrite:     on((*conn).writeProcess),
		wire.MethodProcessSignal:    on((*conn).signalProcess),
		wire.MethodProcessTerminate: on((*conn).terminateProcess),
		wire.MethodHTTPRequest:      on((*conn).httpRequest),
	}
	extensionMethods = map[string]method{
		wire.MethodProcessList:       plain((*conn).listProcesses),
		wire.MethodProcessResize:     on((*conn).resizeProcess),
		wire.MethodProcessCloseStdin: on((*conn).closeStdin),
		wire.MethodProcessAttach:     on((*conn).attachProcess),
		wire.MethodProcessDetach:     on((*conn).detachProcess),
		wire.MethodSessionKeep:       on((*conn).keepSession),
		wire.MethodHTTPCancel:        on((*conn).httpCancel),
	}
	for _, name := range files.Methods() {
		methods[name] = onFiles(name)
	}
}

// readyStatus answers environment/status, which clients ask for often.
var readyStatus, _ = wire.AppendResult(nil, wire.IntID(0), &wire.EnvironmentStatus{Status: "ready"})
