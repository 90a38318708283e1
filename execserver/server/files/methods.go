package files

import (
	"context"
	"maps"
	"slices"

	"github.com/hostsup/hostsup/execserver/wire"
)

// Request is one request of a client about files, with its params decoded.
type Request struct {
	// Sandbox is the sandbox object that the request came with. Do does not look at
	// it: the caller must carry the request out in a process that is confined by it.
	Sandbox *wire.SandboxContext
	// Handle is the client's name of the open file that the request is about, or
	// that it opens.
	Handle  string
	Opens   bool       // it opens Handle
	Closes  bool       // it closes Handle
	Watches bool       // it begins to watch paths
	Writes  []wire.URI // the paths that are made, changed or removed
	// Changes is true for a request that must not run beside other requests about
	// files.
	Changes bool

	do func(*Files, context.Context) (any, error)
}

// Decode reads the params of a method about files. ext is true when the members
// of extensions are in force. Decode must only be called for methods that
// Methods names.
func Decode(method string, params []byte, ext bool) (*Request, *wire.Error) {
	return methods[method](params, ext)
}

// Methods returns the names of all methods about files.
func Methods() []string { return slices.Collect(maps.Keys(methods)) }

// Do carries a request out and returns its result.
func (f *Files) Do(ctx context.Context, q *Request) (any, *wire.Error) {
	result, err := q.do(f, ctx)
	if err != nil {
		return nil, failure(err)
	}
	return result, nil
}

// decoder makes a Request of params.
type decoder func(params []byte, ext bool) (*Request, *wire.Error)

// of returns the decoder of a method with params P. do carries a request out;
// its result is nil for a method without one. about tells what a request is
// about.
func of[P any](do func(*Files, context.Context, *P) (any, error), about func(*P) Request) decoder {
	return func(params []byte, ext bool) (*Request, *wire.Error) {
		p := new(P)
		if bad := wire.DecodeParams(params, p, ext); bad != nil {
			return nil, bad
		}
		q := about(p)
		q.do = func(f *Files, ctx context.Context) (any, error) { return do(f, ctx, p) }
		return &q, nil
	}
}

// writing is a Request that changes the file system at a path.
func writing(path wire.URI, sandbox *wire.SandboxContext) Request {
	return Request{Sandbox: sandbox, Changes: true, Writes: []wire.URI{path}}
}

var methods = map[string]decoder{
	wire.MethodFSReadFile:        of((*Files).readFile, func(p *wire.FSReadFileParams) Request { return Request{Sandbox: p.Sandbox} }),
	wire.MethodFSWriteFile:       of((*Files).writeFile, func(p *wire.FSWriteFileParams) Request { return writing(p.Path, p.Sandbox) }),
	wire.MethodFSCreateDirectory: of((*Files).createDirectory, func(p *wire.FSCreateDirectoryParams) Request { return writing(p.Path, p.Sandbox) }),
	wire.MethodFSGetMetadata:     of((*Files).getMetadata, func(p *wire.FSGetMetadataParams) Request { return Request{Sandbox: p.Sandbox} }),
	wire.MethodFSCanonicalize:    of((*Files).canonicalize, func(p *wire.FSCanonicalizeParams) Request { return Request{Sandbox: p.Sandbox} }),
	wire.MethodFSReadDirectory:   of((*Files).readDirectory, func(p *wire.FSReadDirectoryParams) Request { return Request{Sandbox: p.Sandbox} }),
	wire.MethodFSWalk:            of((*Files).walk, func(p *wire.FSWalkParams) Request { return Request{Sandbox: p.Sandbox} }),
	wire.MethodFSRemove:          of((*Files).remove, func(p *wire.FSRemoveParams) Request { return writing(p.Path, p.Sandbox) }),
	wire.MethodFSCopy:            of((*Files).copy, func(p *wire.FSCopyParams) Request { return writing(p.DestinationPath, p.Sandbox) }),
	wire.MethodFSOpen: of((*Files).open, func(p *wire.FSOpenParams) Request {
		q := Request{Sandbox: p.Sandbox, Changes: true, Handle: p.HandleID, Opens: true}
		if p.Mode == wire.FSOpenReplace {
			q.Writes = []wire.URI{p.Path}
		}
		return q
	}),
	wire.MethodFSReadBlock:    of((*Files).readBlock, func(p *wire.FSReadBlockParams) Request { return Request{Handle: p.HandleID} }),
	wire.MethodFSWriteBlock:   of((*Files).writeBlock, func(p *wire.FSWriteBlockParams) Request { return Request{Handle: p.HandleID, Changes: true} }),
	wire.MethodFSClose:        of((*Files).closeHandle, func(p *wire.FSCloseParams) Request { return Request{Handle: p.HandleID, Changes: true, Closes: true} }),
	wire.MethodFSWatchMissing: of((*Files).watchMissing, func(*wire.FSWatchMissingParams) Request { return Request{Changes: true, Watches: true} }),
}
