//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

var remembering atomic.Bool

func rememberProbe() { remembering.Store(true) }

// memory has the successful tests of earlier processes of this boot. Only successes
// are stored: one that is no longer true makes a start fail at that step, but a stored
// failure would make confinement weaker than the machine allows.
type memory struct {
	file  string
	key   string
	works []string // features that were tested with success
	used  []string // stored features that look used without a test
	news  bool     // works has new entries
}

const (
	memoryPrefix = "probe-"
	memorySize   = 16 << 10 // larger files are not ours
	memoryFiles  = 32       // maximum number of stored keys: programs and namespaces
)

// memoryFile returns the name of the file for a key.
func memoryFile(key string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // never fails
	return fmt.Sprintf("%s%016x", memoryPrefix, h.Sum64())
}

// openMemory reads the stored results; nil without a folder that only the caller can
// write.
func openMemory() *memory {
	dir, err := privateFolder()
	if err != nil {
		return nil
	}
	key, err := memoryKey()
	if err != nil {
		return nil
	}
	m := &memory{file: filepath.Join(dir, memoryFile(key)), key: key}
	if text, err := readOwn(m.file); err == nil {
		if works, ok := strings.CutPrefix(text, key); ok {
			m.works = strings.FieldsFunc(works, func(r rune) bool { return r == '\n' })
		}
	}
	return m
}

// privateFolder creates and returns the folder hostsup in the user's runtime folder, or
// in /run for root. It fails if other users may write to either.
func privateFolder() (string, error) {
	top := runtimeFolder()
	if err := ownFolderOnly(top); err != nil {
		return "", err
	}
	dir := filepath.Join(top, "hostsup")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, ownFolderOnly(dir)
}

// runtimeFolder is a variable for tests.
var runtimeFolder = func() string {
	uid := os.Geteuid()
	if uid == 0 {
		return "/run"
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return dir
	}
	return "/run/user/" + strconv.Itoa(uid)
}

func ownFolderOnly(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !st.IsDir() || !isOwn(st) || st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s: other users can write to it: %w", dir, os.ErrPermission)
	}
	return nil
}

func isOwn(st os.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// readOwn reads a file; it fails if others than the caller can have written it.
func readOwn(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() || !isOwn(st) || st.Mode().Perm()&0o022 != 0 || st.Size() > memorySize {
		return "", fmt.Errorf("%s: other users can write to it: %w", path, os.ErrPermission)
	}
	b, err := io.ReadAll(io.LimitReader(f, memorySize))
	return string(b), err
}

// memoryKey returns the boot, kernel, user, namespaces, cgroup and program for which
// results are valid. It ends with an empty line.
func memoryKey() (string, error) {
	var b strings.Builder
	program, err := os.Stat(sys.Program)
	if err != nil {
		return "", err
	}
	st, ok := program.Sys().(*syscall.Stat_t)
	if !ok {
		return "", errors.ErrUnsupported
	}
	fmt.Fprintf(&b, "program %d:%d %d %d\n", st.Dev, st.Ino, st.Size, program.ModTime().UnixNano())
	fmt.Fprintf(&b, "user %d %d tmp %q\n", os.Geteuid(), os.Getegid(), ownersFolder())
	for _, name := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		link, err := os.Readlink("/proc/self/ns/" + name)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, link)
	}
	for _, file := range []string{"/proc/sys/kernel/random/boot_id", "/proc/version", "/proc/self/cgroup"} {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		b.Write(text)
	}
	label, _ := os.ReadFile("/proc/self/attr/current") // empty without such a security module
	fmt.Fprintf(&b, "label %q\n", label)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(status)) {
		for _, name := range []string{"CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:", "Seccomp_filters:"} {
			if strings.HasPrefix(line, name) {
				b.WriteString(line)
			}
		}
	}
	b.WriteByte('\n')
	return b.String(), nil
}

// try runs a test, unless its success is stored.
func (m *memory) try(name string, trial func() error) error {
	if m == nil {
		return trial()
	}
	if slices.Contains(m.works, name) {
		m.used = append(m.used, name)
		return nil
	}
	err := trial()
	if err == nil {
		m.works, m.news = append(m.works, name), true
	}
	return err
}

// uses reports whether look used the stored result for a feature.
func (m *memory) uses(name string) bool { return m != nil && slices.Contains(m.used, name) }

// keep stores new successes for later processes. It ignores errors: the later processes
// then run the tests themselves.
func (m *memory) keep() {
	if m == nil || !m.news {
		return
	}
	dir := filepath.Dir(m.file)
	if old, _ := os.ReadDir(dir); len(old) >= memoryFiles {
		for _, e := range old {
			if strings.HasPrefix(e.Name(), memoryPrefix) {
				_ = os.Remove(filepath.Join(dir, e.Name()))
			}
		}
	}
	f, err := os.CreateTemp(dir, memoryPrefix)
	if err != nil {
		return
	}
	_, err = f.WriteString(m.key + strings.Join(m.works, "\n") + "\n")
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), m.file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
}

// dropMemory handles the error of a start that relied on stored results: it removes
// them, so that the next process runs the tests itself.
func (m *memory) dropMemory(err error) error {
	var se *StartError
	if m == nil || len(m.used) == 0 || !errors.As(err, &se) || se.Permanent() {
		return err
	}
	_ = os.Remove(m.file)
	e := *se
	e.Err = fmt.Errorf("%w; the start relied on test results of an earlier one, which are removed now: try again", se.Err)
	return &e
}

// holdsOwners tests the mapping of owners, which mounts omit without an error if it
// does not work.
func (m *memory) holdsOwners(userns int) error {
	if !m.uses(featureOwners) {
		return nil
	}
	return sys.TryMap(ownersFolder(), userns)
}
