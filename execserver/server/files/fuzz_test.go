//go:build unix

package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
)

// FuzzParams: whatever the params of a method are, there is an answer, and
// nothing outside of the folder that the rules allow is changed.
func FuzzParams(f *testing.F) {
	methods := []string{
		wire.MethodFSReadFile, wire.MethodFSWriteFile, wire.MethodFSCreateDirectory, wire.MethodFSGetMetadata, wire.MethodFSCanonicalize, wire.MethodFSReadDirectory,
		wire.MethodFSWalk, wire.MethodFSRemove, wire.MethodFSCopy, wire.MethodFSOpen, wire.MethodFSReadBlock, wire.MethodFSWriteBlock, wire.MethodFSClose, wire.MethodFSWatchMissing,
	}
	for i := range methods {
		f.Add(i, "a", "b/c", uint64(3), true, "eHg=")
		f.Add(i, "../../x", "d/../..%2Fe", uint64(1)<<63, false, "!")
	}
	f.Fuzz(func(t *testing.T, method int, from, to string, n uint64, flag bool, data string) {
		outer := t.TempDir()
		root := filepath.Join(outer, "root")
		tree(t, outer, "root/a", "root/b/c", "root/l->../outside", "outside")
		sandbox := &wire.SandboxContext{Permissions: wire.Permissions{Type: wire.PermissionsManaged, FileSystem: &wire.FileSystemPermissions{
			Type: wire.FileSystemRestricted,
			Entries: []wire.PermissionEntry{{
				Path:   wire.PermissionPath{Type: wire.PathPlain, Path: string(wire.FileURI(root))},
				Access: wire.AccessWrite,
			}},
		}}}
		uri := func(s string) wire.URI {
			if u, err := wire.ParseURI(string(wire.FileURI(root)) + "/" + s); err == nil {
				return u
			}
			return wire.FileURI(filepath.Join(root, strings.ReplaceAll(s, "\x00", "")))
		}
		fs := New(Limits{ReadFile: 1 << 20, Changed: func(wire.FSMissingChanged) {}})
		defer fs.Close()
		ctx := t.Context()
		switch p := uri(from); methods[((method%len(methods))+len(methods))%len(methods)] {
		case wire.MethodFSReadFile:
			_, _ = fs.ReadFile(ctx, wire.FSReadFileParams{Path: p, FollowSymlinks: &flag, Sandbox: sandbox})
		case wire.MethodFSWriteFile:
			_ = fs.WriteFile(ctx, wire.FSWriteFileParams{Path: p, FollowSymlinks: &flag, DataBase64: data, Sandbox: sandbox})
		case wire.MethodFSCreateDirectory:
			_ = fs.CreateDirectory(ctx, wire.FSCreateDirectoryParams{Path: p, Recursive: &flag, Sandbox: sandbox})
		case wire.MethodFSGetMetadata:
			_, _ = fs.GetMetadata(ctx, wire.FSGetMetadataParams{Path: p, FollowSymlinks: &flag, Sandbox: sandbox})
		case wire.MethodFSCanonicalize:
			_, _ = fs.Canonicalize(ctx, wire.FSCanonicalizeParams{Path: p, Sandbox: sandbox})
		case wire.MethodFSReadDirectory:
			_, _ = fs.ReadDirectory(ctx, wire.FSReadDirectoryParams{Path: p, Sandbox: sandbox})
		case wire.MethodFSWalk:
			o := wire.FSWalkOptions{MaxDepth: uint(n % 70), MaxDirectories: uint(n % 11), MaxEntries: uint(n % 7), FollowDirectorySymlinks: flag}
			_, _ = fs.Walk(ctx, wire.FSWalkParams{Path: p, Options: o, Sandbox: sandbox})
		case wire.MethodFSRemove:
			_ = fs.Remove(ctx, wire.FSRemoveParams{Path: p, Recursive: &flag, Sandbox: sandbox})
		case wire.MethodFSCopy:
			_ = fs.Copy(ctx, wire.FSCopyParams{SourcePath: p, DestinationPath: uri(to), Recursive: flag, Sandbox: sandbox})
		case wire.MethodFSOpen, wire.MethodFSReadBlock, wire.MethodFSWriteBlock, wire.MethodFSClose:
			mode := wire.FSOpenRead
			if flag {
				mode = wire.FSOpenReplace
			}
			_, _ = fs.Open(ctx, wire.FSOpenParams{HandleID: to, Path: p, Mode: mode, Sandbox: sandbox})
			_ = fs.WriteBlock(ctx, wire.FSWriteBlockParams{HandleID: to, Offset: n % (1 << 20), Chunk: []byte(data)})
			r, bad := fs.ReadBlock(ctx, wire.FSReadBlockParams{HandleID: to, Offset: n, Len: uint(n % (2 << 20))})
			if bad == nil && len(r.Chunk) > wire.MaxReadBlock {
				t.Errorf("%d bytes", len(r.Chunk))
			}
			_ = fs.CloseHandle(ctx, wire.FSCloseParams{HandleID: to})
		case wire.MethodFSWatchMissing:
			_, _ = fs.WatchMissing(ctx, wire.FSWatchMissingParams{WatchID: n, Missing: []wire.URI{p, uri(to)}})
		}
		list, err := os.ReadDir(outer)
		if err != nil || len(list) != 2 {
			t.Fatalf("%v %v", list, err)
		}
		if text, err := os.ReadFile(filepath.Join(outer, "outside")); err != nil || string(text) != "outside" {
			t.Fatalf("%q %v", text, err)
		}
	})
}

// FuzzGlob: a pattern that is taken ends, and holds for its own plain form.
func FuzzGlob(f *testing.F) {
	for _, s := range []string{"**/*.env", "/a/*/b", "a[!b]c", "**/**/x?", "["} {
		f.Add(s, "/a/b/c.env")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		globs, ok := newGlobs("/cwd", pattern)
		if !ok {
			return
		}
		for _, g := range globs {
			_ = g.match(path)
			if !strings.ContainsAny(pattern, "*?[") {
				plain := filepath.Clean(pattern)
				if !filepath.IsAbs(plain) {
					plain = filepath.Join("/cwd", plain)
				}
				if len(globs) == 1 && !g.match(plain) {
					t.Errorf("%q does not match itself", pattern)
				}
			}
		}
	})
}
