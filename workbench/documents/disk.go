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

// readFile returns the content of a file of at most maxSize bytes.
func readFile(caller *workbench.Call, path string) ([]byte, error) {
	fs := files(caller)
	about, err := fs.Stat(path)
	if err != nil {
		return nil, err
	}
	if about.Size > maxSize {
		return nil, ErrTooLarge
	}
	return fs.ReadFile(path, maxSize)
}
