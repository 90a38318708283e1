package execserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		sandboxed := fsys.Sandboxed(&wire.SandboxContext{})
		for _, test := range []struct {
			method, want string
			result       any
			f            func() error
		}{
			{wire.MethodFSWriteFile, `{"path":"file:///a%20b","dataBase64":"aGk="}`, wire.Empty{}, func() error {
				return fsys.WriteFile(ctx, "/a b", []byte("hi"))
			}},
			{wire.MethodFSCreateDirectory, `{"path":"file:///a","recursive":true}`, wire.Empty{}, func() error { return fsys.MkdirAll(ctx, "/a") }},
			{wire.MethodFSCreateDirectory, `{"path":"file:///a","recursive":false}`, wire.Empty{}, func() error { return fsys.Mkdir(ctx, "/a") }},
			{wire.MethodFSGetMetadata, `{"path":"file:///d/a"}`, wire.FSMetadata{IsFile: true, Size: 3}, func() error {
				m, err := fsys.Stat(ctx, "/d/a")
				if err == nil {
					is(t, fs.FormatFileInfo(m), "-r--r--r-- 3 "+time.UnixMilli(0).Format(time.DateTime)+" a")
				}
				return err
			}},
			{wire.MethodFSCanonicalize, `{"path":"file:///a"}`, wire.FSCanonicalizeResult{Path: "file:///b%20c"}, func() error {
				p, err := fsys.EvalSymlinks(ctx, "/a")
				is(t, p, "/b c")
				return err
			}},
			{wire.MethodFSReadDirectory, `{"path":"file:///a"}`, wire.FSReadDirectoryResult{Entries: []wire.FSDirEntry{{FileName: "y", IsFile: true}, {FileName: "x", IsDirectory: true}}}, func() error {
				e, err := fsys.ReadDir(ctx, "/a")
				is(t, fmt.Sprint(e), "[d x/ - y]")
				return err
			}},
			{wire.MethodFSRemove, `{"path":"file:///a","recursive":true,"force":true}`, wire.Empty{}, func() error { return fsys.RemoveAll(ctx, "/a") }},
			{wire.MethodFSRemove, `{"path":"file:///a","recursive":false,"force":false}`, wire.Empty{}, func() error { return fsys.Remove(ctx, "/a") }},
			{wire.MethodFSCopy, `{"sourcePath":"file:///a","destinationPath":"file:///b","recursive":true}`, wire.Empty{}, func() error {
				return fsys.Copy(ctx, "/a", "/b")
			}},
			{wire.MethodFSRemove, "", wire.Empty{}, func() error { return sandboxed.Remove(ctx, "/a") }},
		} {
			if err := ask(t, conn, test.method, test.want, test.result, test.f); err != nil {
				t.Errorf("%s: %v", test.method, err)
			}
		}
		for _, bad := range []string{"", "a\x00b"} {
			if _, err := fsys.Stat(ctx, bad); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	})
}

// Paths are those of the server's system.
func TestPaths(t *testing.T) {
	for _, test := range []struct {
		system      string
		cwd         wire.URI
		name        string
		want, fails string
	}{
		{"linux", "file:///home/u", "a/../b", "file:///home/u/b", ""},
		{"linux", "file:///home/u", "/x", "file:///x", ""},
		{"linux", "file:///home/u", `a\b`, "file:///home/u/a%5Cb", ""},
		{"", "", "/x", "file:///x", ""},
		{"", "", "x", "", "an absolute path is needed"},
		{"windows", "file:///C:/Users", `sub\a b`, "file:///C:/Users/sub/a%20b", ""},
		{"windows", "file:///C:/Users", `D:\x`, "file:///D:/x", ""},
	} {
		c := New(Unix{}, Options{})
		c.hello.EnvironmentInfo = wire.EnvironmentInfo{PlatformOS: test.system, Cwd: test.cwd}
		got, err := c.uri(test.name)
		if string(got) != test.want || (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%s on %q: %s %v", test.name, test.system, got, err)
		}
		c.Close()
	}
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
			{wire.Error{Code: wire.CodeInternal, Message: "No such file or directory (os error 2)"}, fs.ErrNotExist},
			{wire.Error{Code: wire.CodeInternal, Message: "Unable to spawn no-such because:\nNo viable candidates found in PATH \"/bin\""}, fs.ErrNotExist},
			{wire.Error{Code: wire.CodeInternal, Message: "Operation not permitted (os error 1)"}, fs.ErrPermission},
			{wire.Error{Code: wire.CodeInternal, Message: "Directory not empty (os error 39)"}, fs.ErrExist},
			{wire.Error{Code: wire.CodeInternal, Message: "File exists (os error 17)"}, fs.ErrExist},
			{wire.Error{Code: wire.CodeMethodNotFound, Message: "exec-server stub does not implement `fs/walk` yet"}, ErrNoMethod},
			{wire.Error{Code: wire.CodeInvalidRequest, Message: "path is not a file"}, &wire.Error{Code: wire.CodeInvalidRequest}},
		} {
			err := ask(t, conn, wire.MethodFSReadFile, "", &test.e, func() error {
				err := c.Call(t.Context(), wire.MethodFSReadFile, nil, nil)
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

// An open file reads and writes by blocks; one that is written ends with its
// connection.
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
		f, err := c.FS().Create(t.Context(), "/a")
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
		if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
			t.Error(err)
		}
		if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
			t.Error(err)
		}
	})
}

// serveFile answers requests about one file, with the times that a server tells,
// until the connection is cut at a request for the offset.
func (c *fakeConn) serveFile(content string, made, changed int64, cutAt uint64) {
	for m := range c.got {
		switch m.Method {
		case wire.MethodFSOpen:
			c.result(m, wire.FSOpenResult{})
		case wire.MethodFSGetMetadata:
			c.result(m, wire.FSMetadata{IsFile: true, Size: uint64(len(content)), CreatedAtMs: made, ModifiedAtMs: changed})
		case wire.MethodFSReadBlock, wire.MethodFSWriteBlock:
			p := params[wire.FSReadBlockParams](c.t, m)
			if p.Offset >= cutAt {
				c.cut()
				return
			}
			if m.Method == wire.MethodFSWriteBlock {
				c.result(m, wire.Empty{})
				continue
			}
			part := content[min(int(p.Offset), len(content)):]
			part = part[:min(int(p.Len), len(part))]
			c.result(m, &wire.FSReadBlockResult{Chunk: []byte(part), EOF: len(part) < int(p.Len)})
		case wire.MethodFSClose:
			c.result(m, wire.Empty{})
			return
		}
	}
}

// A file that is open to be read outlives its connection unless another file has
// taken its place; one that is open to be written does not.
func TestFileOverReconnect(t *testing.T) {
	for name, test := range map[string]struct {
		made, changed, madeLater, changedLater int64
		is                                     error
	}{
		"same":                {1, 2, 1, 3, nil},
		"replaced":            {1, 2, 3, 3, ErrReplaced},
		"same, not known":     {0, 2, 0, 2, nil},
		"replaced, not known": {0, 2, 0, 3, ErrReplaced},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fake) {
				content := strings.Repeat("0123456789", 1000)
				c, conn := s.client(Options{}, true)
				go conn.serveFile(content, test.made, test.changed, 5000)
				f, err := c.FS().Open(t.Context(), "/a")
				if err != nil {
					t.Fatal(err)
				}
				got := make([]byte, 4000)
				if _, err := io.ReadFull(f, got); err != nil || string(got) != content[:4000] {
					t.Fatalf("%q %v", got, err)
				}
				if _, err := io.ReadFull(f, make([]byte, 1000)); err != nil {
					t.Fatal(err)
				}
				go func() { s.accept("s-1", "s-1").serveFile(content, test.madeLater, test.changedLater, 1<<30) }()
				rest, err := io.ReadAll(f)
				if !errors.Is(err, test.is) || test.is == nil && string(rest) != content[5000:] {
					t.Errorf("%d bytes, %v", len(rest), err)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
	t.Run("written", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *fake) {
			c, conn := s.client(Options{}, true)
			go conn.serveFile("", 0, 0, 5)
			f, err := c.FS().Create(t.Context(), "/a")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(f, "12345"); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(f, "67890"); !errors.Is(err, ErrDisconnected) {
				t.Error(err)
			}
		})
	})
}

func TestWatchMissing(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		watch := func(watching bool) (w *Watch) {
			err := ask(t, conn, wire.MethodFSWatchMissing, "", wire.FSWatchMissingResult{Watching: watching}, func() error {
				got, ok, err := c.FS().WatchMissing(t.Context(), []string{"/later"}, "/now")
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
		conn.sendf(`{"method":"fs/missingChanged","params":{"watchId":%d}}`, processIDs.Load())
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
