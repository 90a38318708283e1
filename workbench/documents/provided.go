package documents

import (
	"context"
	"fmt"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
)

// FileSystems are the file systems that extensions provide, such as those of the schemes "git" and
// "vscode-vfs". Its errors are those of package workbench/disk: one with the name
// [disk.NameUnavailable] means that no extension has the scheme.
type FileSystems interface {
	// Serves reports whether a file system has the files of a scheme now. It must not block.
	Serves(scheme string) bool
	// ReadFile returns the content of a file. Extensions that have the scheme are activated first.
	ReadFile(ctx context.Context, uri workbench.URI) ([]byte, error)
	// WriteFile replaces the content of a file.
	WriteFile(ctx context.Context, uri workbench.URI, data []byte) error
	// Watch requests from the file system that it reports changes of a file, until stop is called. It
	// must not block.
	Watch(uri workbench.URI) (stop func())
}

// hasProvidedFile reports whether the content of a document is in a file system of an extension.
func (s *Service) hasProvidedFile(uri workbench.URI) bool {
	return s.opt.Files != nil && uri.Scheme != "file" && s.opt.Files.Serves(uri.Scheme)
}

// provided returns the content of a document that is no file of this machine. As in VS Code, a file
// system has precedence over providers of contents.
func (s *Service) provided(ctx context.Context, uri workbench.URI, encoding string) (source, error) {
	if s.opt.Files == nil || !s.opt.Files.Serves(uri.Scheme) && s.hasContent(uri.Scheme) {
		return s.content(ctx, uri)
	}
	data, err := s.opt.Files.ReadFile(ctx, uri)
	switch {
	case disk.Named(err, disk.NameUnavailable) && !s.opt.Files.Serves(uri.Scheme):
		return s.content(ctx, uri)
	case err != nil:
		return source{}, err
	}
	return decoded(data, encoding)
}

// target returns where a document is saved; false if it has no path.
func (s *Service) target(uri workbench.URI) (workbench.URI, bool) {
	if path, ok := untitledPath(uri); ok {
		return workbench.File(path), true
	}
	_, ok := uri.FilePath()
	return uri, ok || s.hasProvidedFile(uri)
}

// read returns the content of a file of at most maxSize bytes: one of this machine as fs has it, or
// one of a file system of an extension.
func (s *Service) read(ctx context.Context, fs disk.FS, uri workbench.URI) ([]byte, error) {
	if path, ok := uri.FilePath(); ok {
		return readBounded(fs, path)
	}
	if !s.hasProvidedFile(uri) {
		return nil, fmt.Errorf("%s is no file", uri)
	}
	data, err := s.opt.Files.ReadFile(ctx, uri)
	if err == nil && len(data) > maxSize {
		return nil, ErrTooLarge
	}
	return data, err
}

// write replaces the content of a file, as read reads it.
func (s *Service) write(ctx context.Context, fs disk.FS, uri workbench.URI, data []byte) error {
	if path, ok := uri.FilePath(); ok {
		return fs.WriteFile(path, data)
	}
	return s.opt.Files.WriteFile(ctx, uri, data)
}

// Changed makes the service read documents again whose files have changed in file systems of extensions.
// Documents with changes to save stay as they are. Changed does not block.
func (s *Service) Changed(uris []workbench.URI) {
	for _, uri := range uris {
		s.mu.Lock()
		d := s.documents[uri.String()]
		s.mu.Unlock()
		if d != nil && s.hasProvidedFile(uri) {
			s.changedOnDisk(d)
		}
	}
}
