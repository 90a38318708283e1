package execserver

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"testing"
	"testing/synctest"

	"github.com/hostsup/hostsup/execserver/wire"
)

// ask runs f while the server answers one request of a method.
func ask(t *testing.T, conn *fakeConn, method, want string, result any, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	m := conn.want(method)
	if want != "" {
		is(t, string(m.Params), want)
	}
	if e, ok := result.(*wire.Error); ok {
		conn.refuse(m, e.Code, e.Message)
	} else {
		conn.result(m, result)
	}
	return <-done
}

func TestFS(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		fsys, ctx := c.FS(), t.Context()
		for _, test := range []struct {
			method, want string
			result       any
			f            func() error
		}{
			{wire.MethodFSReadFile, `{"path":"file:///a"}`, &wire.FSReadFileResult{Data: []byte("hi")}, func() error {
				data, err := fsys.ReadFile(ctx, wire.FSReadFileParams{Path: "file:///a"})
				is(t, string(data), "hi")
				return err
			}},
			{wire.MethodFSWriteFile, `{"path":"file:///a","dataBase64":"aGk="}`, wire.Empty{}, func() error {
				return fsys.WriteFile(ctx, wire.FSWriteFileParams{Path: "file:///a"}, []byte("hi"))
			}},
			{wire.MethodFSCreateDirectory, `{"path":"file:///a"}`, wire.Empty{}, func() error {
				return fsys.CreateDirectory(ctx, wire.FSCreateDirectoryParams{Path: "file:///a"})
			}},
			{wire.MethodFSGetMetadata, `{"path":"file:///a"}`, wire.FSMetadata{IsFile: true, Size: 3}, func() error {
				m, err := fsys.GetMetadata(ctx, wire.FSGetMetadataParams{Path: "file:///a"})
				if !m.IsFile || m.Size != 3 {
					t.Errorf("%+v", m)
				}
				return err
			}},
			{wire.MethodFSCanonicalize, `{"path":"file:///a"}`, wire.FSCanonicalizeResult{Path: "file:///b"}, func() error {
				p, err := fsys.Canonicalize(ctx, wire.FSCanonicalizeParams{Path: "file:///a"})
				is(t, string(p), "file:///b")
				return err
			}},
			{wire.MethodFSReadDirectory, `{"path":"file:///a"}`, wire.FSReadDirectoryResult{Entries: []wire.FSDirEntry{{FileName: "x"}}}, func() error {
				e, err := fsys.ReadDirectory(ctx, wire.FSReadDirectoryParams{Path: "file:///a"})
				if len(e) != 1 || e[0].FileName != "x" {
					t.Errorf("%+v", e)
				}
				return err
			}},
			{wire.MethodFSWalk, "", wire.FSWalkResult{Truncated: true}, func() error {
				r, err := fsys.Walk(ctx, wire.FSWalkParams{Path: "file:///a"})
				if !r.Truncated {
					t.Errorf("%+v", r)
				}
				return err
			}},
			{wire.MethodFSRemove, `{"path":"file:///a"}`, wire.Empty{}, func() error { return fsys.Remove(ctx, wire.FSRemoveParams{Path: "file:///a"}) }},
			{wire.MethodFSCopy, `{"sourcePath":"file:///a","destinationPath":"file:///b","recursive":false}`, wire.Empty{}, func() error {
				return fsys.Copy(ctx, wire.FSCopyParams{SourcePath: "file:///a", DestinationPath: "file:///b"})
			}},
		} {
			if err := ask(t, conn, test.method, test.want, test.result, test.f); err != nil {
				t.Errorf("%s: %v", test.method, err)
			}
		}
	})
}

func TestFSErrors(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		for _, test := range []struct {
			e  wire.Error
			is error
		}{
			{wire.Error{Code: wire.CodeNotFound, Message: "No such file or directory (os error 2)"}, fs.ErrNotExist},
			{wire.Error{Code: wire.CodeNotFound, Message: "unknown file handle `h`"}, ErrNotFound},
			{wire.Error{Code: wire.CodeInternal, Message: "Permission denied (os error 13)"}, fs.ErrPermission},
			{wire.Error{Code: wire.CodeInternal, Message: "File exists (os error 17)"}, fs.ErrExist},
			{wire.Error{Code: wire.CodeMethodNotFound, Message: "exec-server stub does not implement `fs/walk` yet"}, ErrNoMethod},
			{wire.Error{Code: wire.CodeInvalidRequest, Message: "path is not a file"}, &wire.Error{Code: wire.CodeInvalidRequest}},
		} {
			err := ask(t, conn, wire.MethodFSReadFile, "", &test.e, func() error {
				_, err := c.FS().ReadFile(t.Context(), wire.FSReadFileParams{})
				return err
			})
			if !errors.Is(err, test.is) {
				t.Errorf("%v is not %v", err, test.is)
			}
			for _, other := range []error{ErrAttached, ErrUnknownProcess, ErrUnknownSession, ErrDisconnected} {
				if errors.Is(err, other) {
					t.Errorf("%v is %v", err, other)
				}
			}
		}
	})
}

// An open file reads and writes by blocks, and ends with its connection.
func TestFile(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		content := bytes.Repeat([]byte("0123456789"), 150_000)
		written := make([]byte, len(content))
		go func() {
			for m := range conn.got {
				switch m.Method {
				case wire.MethodFSOpen:
					conn.result(m, wire.FSOpenResult{})
				case wire.MethodFSReadBlock:
					p := params[wire.FSReadBlockParams](t, m)
					from := min(p.Offset, uint64(len(content)))
					to := min(from+uint64(p.Len), uint64(len(content)))
					conn.result(m, &wire.FSReadBlockResult{Chunk: content[from:to], EOF: to-from < uint64(p.Len)})
				case wire.MethodFSWriteBlock:
					p := params[wire.FSWriteBlockParams](t, m)
					if len(p.Chunk) > wire.MaxReadBlock {
						t.Errorf("%d bytes at once", len(p.Chunk))
					}
					copy(written[p.Offset:], p.Chunk)
					conn.result(m, wire.Empty{})
				case wire.MethodFSClose:
					conn.result(m, wire.Empty{})
					conn.cut()
					return
				}
			}
		}()
		f, err := c.FS().Open(t.Context(), wire.FSOpenParams{Path: "file:///a", Mode: wire.FSOpenReplace})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<40))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if n, err := f.WriteAt(content, 0); n != len(content) || err != nil || !bytes.Equal(written, content) {
			t.Errorf("%d %v", n, err)
		}
		if n, err := f.ReadAt(make([]byte, 10), int64(len(content))-5); n != 5 || err != io.EOF {
			t.Errorf("%d %v", n, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, ErrDisconnected) {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestWatchMissing(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		watch := func(watching bool) (w *Watch) {
			err := ask(t, conn, wire.MethodFSWatchMissing, `{"watchId":7,"missing":[],"present":null}`, wire.FSWatchMissingResult{Watching: watching}, func() error {
				got, ok, err := c.FS().WatchMissing(t.Context(), wire.FSWatchMissingParams{WatchID: 7})
				if ok != watching {
					t.Errorf("ok is %v", ok)
				}
				w = got
				return err
			})
			if err != nil {
				t.Error(err)
			}
			return w
		}
		watch(false)
		w := watch(true)
		synctest.Wait()
		select {
		case <-w.Done():
			t.Error("done before anything happened")
		default:
		}
		conn.send(`{"method":"fs/missingChanged","params":{"watchId":7}}`)
		if <-w.Done(); w.Err() != nil {
			t.Error(w.Err())
		}
		w = watch(true)
		conn.cut()
		if <-w.Done(); !errors.Is(w.Err(), ErrDisconnected) {
			t.Error(w.Err())
		}
	})
}
