package documents

import (
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
)

// files returns the files that a caller may use. caller is nil if the program itself asks.
func files(caller *workbench.Call) disk.FS {
	if caller == nil {
		return disk.FS{}
	}
	return disk.FS{Guard: caller.Guard}
}

// may checks what a host may do with the file of a document. Untitled documents are checked by the
// file that they will be.
func may(caller *workbench.Call, uri workbench.URI, use workbench.Use) error {
	path, ok := uri.FilePath()
	if !ok {
		path, ok = untitledPath(uri)
	}
	if !ok || caller == nil {
		return nil
	}
	return workbench.Allowed(caller.Guard, path, use)
}

func mayRead(caller *workbench.Call, uri workbench.URI) error {
	return may(caller, uri, workbench.Read)
}

func mayWrite(caller *workbench.Call, uri workbench.URI) error {
	return may(caller, uri, workbench.Write)
}

func missing(err error) bool { return disk.Named(err, disk.NameNotFound) }

// readBounded returns the content of a file of at most maxSize bytes.
func readBounded(fs disk.FS, path string) ([]byte, error) {
	about, err := fs.Stat(path)
	if err != nil {
		return nil, err
	}
	if about.Size > maxSize {
		return nil, ErrTooLarge
	}
	return fs.ReadFile(path, maxSize)
}

// guard returns the guard under which the file of a document is read again: of a confined host that
// sees the document, which may have put a link to another file in its place. The error means that
// one of these hosts must not read what is there now. The caller must hold mu.
func (s *Service) guard(d *document, path string) (workbench.Guard, error) {
	var guard workbench.Guard
	for _, v := range s.views {
		g := v.host.Guard()
		if g == nil || v.documents[d.key] != d {
			continue
		}
		if err := workbench.Allowed(g, path, workbench.Read); err != nil {
			return nil, err
		}
		guard = g
	}
	return guard, nil
}
