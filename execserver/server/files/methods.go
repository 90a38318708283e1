package files

import (
	"context"

	"github.com/hostsup/hostsup/execserver/wire"
)

// Request is one request of a client about files, with its params decoded.
type Request struct {
	// Sandbox is the sandbox object that the request came with. It is not part of
	// what Do carries out: the caller must carry the request out in a process that
	// is confined by it.
	Sandbox *wire.SandboxContext
	// Handle is the client's name of the open file that the request is about, or
	// that it opens.
	Handle  string
	Opens   bool       // it opens Handle
	Closes  bool       // it closes Handle
	Watches bool       // it begins to watch paths
	Writes  []wire.URI // the paths that are made, changed or removed
	// Changes is true for what must not run beside other requests about files.
	Changes bool

	do func(*Files, context.Context) (any, *wire.Error)
}

// Decode reads the params of a method about files. ext is true when the members
// of extensions are in force. Decode must only be called for methods that
// Methods names.
func Decode(method string, params []byte, ext bool) (*Request, *wire.Error) {
	return methods[method](params, ext)
}

// Methods returns the names of all methods about files.
func Methods() []string {
	names := make([]string, 0, len(methods))
	for name := range methods {
		names = append(names, name)
	}
	return names
}

// Do carries a request out and returns its result.
func (f *Files) Do(ctx context.Context, q *Request) (any, *wire.Error) { return q.do(f, ctx) }

// decoder makes a Request of params.
type decoder func(params []byte, ext bool) (*Request, *wire.Error)

// of is a method with params P and a result R; about fills in what the request
// is about and returns where the params have their sandbox object.
func of[P, R any](do func(*Files, context.Context, P) (R, *wire.Error), about func(*P, *Request) **wire.SandboxContext) decoder {
	return func(params []byte, ext bool) (*Request, *wire.Error) {
		p, q := new(P), &Request{}
		if bad := wire.DecodeParams(params, p, ext); bad != nil {
			return nil, bad
		}
		if at := about(p, q); at != nil {
			q.Sandbox, *at = *at, nil
		}
		q.do = func(f *Files, ctx context.Context) (any, *wire.Error) {
			res, bad := do(f, ctx, *p)
			return &res, bad
		}
		return q, nil
	}
}

// empty is a method without a result.
func empty[P any](do func(*Files, context.Context, P) *wire.Error) func(*Files, context.Context, P) (wire.Empty, *wire.Error) {
	return func(f *Files, ctx context.Context, p P) (wire.Empty, *wire.Error) { return wire.Empty{}, do(f, ctx, p) }
}

// changes says what a request writes.
func (q *Request) changes(paths ...wire.URI) { q.Changes, q.Writes = true, paths }

var methods = map[string]decoder{
	wire.MethodFSReadFile: of((*Files).ReadFile, func(p *wire.FSReadFileParams, _ *Request) **wire.SandboxContext { return &p.Sandbox }),
	wire.MethodFSWriteFile: of(empty((*Files).WriteFile), func(p *wire.FSWriteFileParams, q *Request) **wire.SandboxContext {
		q.changes(p.Path)
		return &p.Sandbox
	}),
	wire.MethodFSCreateDirectory: of(empty((*Files).CreateDirectory), func(p *wire.FSCreateDirectoryParams, q *Request) **wire.SandboxContext {
		q.changes(p.Path)
		return &p.Sandbox
	}),
	wire.MethodFSGetMetadata:   of((*Files).GetMetadata, func(p *wire.FSGetMetadataParams, _ *Request) **wire.SandboxContext { return &p.Sandbox }),
	wire.MethodFSCanonicalize:  of((*Files).Canonicalize, func(p *wire.FSCanonicalizeParams, _ *Request) **wire.SandboxContext { return &p.Sandbox }),
	wire.MethodFSReadDirectory: of((*Files).ReadDirectory, func(p *wire.FSReadDirectoryParams, _ *Request) **wire.SandboxContext { return &p.Sandbox }),
	wire.MethodFSWalk:          of((*Files).Walk, func(p *wire.FSWalkParams, _ *Request) **wire.SandboxContext { return &p.Sandbox }),
	wire.MethodFSRemove: of(empty((*Files).Remove), func(p *wire.FSRemoveParams, q *Request) **wire.SandboxContext {
		q.changes(p.Path)
		return &p.Sandbox
	}),
	wire.MethodFSCopy: of(empty((*Files).Copy), func(p *wire.FSCopyParams, q *Request) **wire.SandboxContext {
		q.changes(p.DestinationPath)
		return &p.Sandbox
	}),
	wire.MethodFSOpen: of((*Files).Open, func(p *wire.FSOpenParams, q *Request) **wire.SandboxContext {
		q.Changes, q.Handle, q.Opens = true, p.HandleID, true
		if p.Mode == wire.FSOpenReplace {
			q.Writes = []wire.URI{p.Path}
		}
		return &p.Sandbox
	}),
	wire.MethodFSReadBlock: of((*Files).ReadBlock, func(p *wire.FSReadBlockParams, q *Request) **wire.SandboxContext {
		q.Handle = p.HandleID
		return nil
	}),
	wire.MethodFSWriteBlock: of(empty((*Files).WriteBlock), func(p *wire.FSWriteBlockParams, q *Request) **wire.SandboxContext {
		q.Handle, q.Changes = p.HandleID, true
		return nil
	}),
	wire.MethodFSClose: of(empty((*Files).CloseHandle), func(p *wire.FSCloseParams, q *Request) **wire.SandboxContext {
		q.Handle, q.Changes, q.Closes = p.HandleID, true, true
		return nil
	}),
	wire.MethodFSWatchMissing: of((*Files).WatchMissing, func(_ *wire.FSWatchMissingParams, q *Request) **wire.SandboxContext {
		q.Changes, q.Watches = true, true
		return nil
	}),
}
