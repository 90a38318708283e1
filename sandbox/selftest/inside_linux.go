//go:build !hostsup_posix

package selftest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// How this program is known again when it is started for a part in the test: by its name, and by a variable in its
// environment.
const (
	partName = "hostsup-selftest"
	partVar  = "HOSTSUP_SELFTEST"
)

// A process that has a part never gets past this.
func init() {
	if len(os.Args) < 2 || os.Args[0] != partName || os.Getenv(partVar) == "" {
		return
	}
	part := map[string]func(args []string) int{
		"attempt":    partAttempt,
		"victim":     partVictim,
		"child":      partChild,
		"supervisor": partSupervisor,
		"suite":      partSuite,
	}[os.Args[1]]
	if part == nil {
		fmt.Fprintf(os.Stderr, "%s: no part %q\n", partName, os.Args[1])
		os.Exit(2)
	}
	leave(part(os.Args[2:]))
}

// leave ends the process at once: a program built with the race detector would sleep for a second where it cannot
// read in /proc that it should not.
func leave(code int) {
	for {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(code), 0, 0)
	}
}

// told reads what a part that has one argument is told, as JSON.
func told(args []string, what any) bool {
	return len(args) == 1 && json.Unmarshal([]byte(args[0]), what) == nil
}

// partEnv is all of the environment that a part needs: a runtime that is small and quick to start, and says little
// when it crashes.
func partEnv(mark string) []string {
	return []string{partVar + "=" + mark, "GOMAXPROCS=1", "GOGC=off", "GOTRACEBACK=none"}
}

// note is a line from inside to outside.
type note struct {
	Kind string `json:"k"`
	Text string `json:"t,omitempty"`
}

// The kinds of notes.
const (
	noteBegin = "begin" // it is inside and about to try
	noteSay   = "say"   // something that a judge reads
	notePause = "pause" // it waits for a line while the outside looks
	noteEnd   = "end"   // do returned; the text is its error, "" for none
	notePanic = "panic" // do is broken
)

// noteMark begins a line that is a note; what started programs print has none.
const noteMark = "\x01"

func tell(kind, text string) {
	b, err := json.Marshal(note{kind, text})
	if err == nil {
		_, _ = os.Stdout.WriteString("\n" + noteMark + string(b) + "\n")
	}
}

// inside is an attempt's view of its confined world.
type inside struct {
	params map[string]string
	in     *bufio.Reader
	files  []*os.File // open until the process ends
}

// partAttempt runs one attempt: its id and its parameters as JSON.
func partAttempt(args []string) int {
	signal.Ignore(syscall.SIGXFSZ, syscall.SIGPIPE)
	in := &inside{in: bufio.NewReader(os.Stdin)}
	if len(args) != 2 || json.Unmarshal([]byte(args[1]), &in.params) != nil {
		return 2
	}
	at := find(args[0])
	if at == nil || at.do == nil {
		return 2
	}
	do := at.do
	if in.params["life"] == firstLife {
		do = at.first
	}
	tell(noteBegin, "")
	defer func() {
		if p := recover(); p != nil {
			tell(notePanic, fmt.Sprint(p))
		}
	}()
	text := ""
	if err := tried(func() error { return do(in) }); err != nil {
		text = err.Error()
		if text == "" {
			text = "failed"
		}
	}
	tell(noteEnd, text)
	return 0
}

func find(id string) *attempt {
	for _, list := range [][]*attempt{attempts(), work()} {
		for _, at := range list {
			if at.id() == id {
				return at
			}
		}
	}
	return nil
}

// get is a parameter that prepare has set, or the parent's process id.
func (in *inside) get(key string) string {
	v, ok := in.params[key]
	switch {
	case key == "parent":
		return strconv.Itoa(parent())
	case !ok:
		panic("no parameter " + key)
	}
	return v
}

func (in *inside) num(key string) int {
	n, err := strconv.Atoi(in.get(key))
	if err != nil {
		panic(err)
	}
	return n
}

// parent is the process that has started this one; in a pid namespace of its own that is init.
func parent() int { return max(os.Getppid(), 1) }

// path is where a name leads: $key stands for a parameter, and what does not begin with / is on the stage.
func (in *inside) path(name string) string {
	name = os.Expand(name, in.get)
	if !strings.HasPrefix(name, "/") {
		name = in.get("dir") + "/" + name // not cleaned: it may have .. in it
	}
	return name
}

// say tells the judge something: contents that should not be readable here, counts, addresses.
func (in *inside) say(format string, args ...any) { tell(noteSay, fmt.Sprintf(format, args...)) }

// sayMiB says how much an attempt has written or set aside so far.
func (in *inside) sayMiB(mib int) { in.say("%d MiB", mib) }

// pause waits until the outside has looked.
func (in *inside) pause() {
	tell(notePause, "")
	_, _ = in.in.ReadString('\n')
}

// child is a command that runs this program as the part "child".
func (in *inside) child(args ...string) *exec.Cmd { return childCommand(in.get("program"), args...) }

// open opens a file, or makes it, until the process ends.
func (in *inside) open(name string, flags int) *os.File {
	f := must(os.OpenFile(in.path(name), flags, 0o755))
	in.files = append(in.files, f)
	return f
}

// sayRead calls read once and says what has come.
func (in *inside) sayRead(read func(b []byte) (int, error)) error {
	b := make([]byte, 64<<10)
	n, err := read(b)
	if n > 0 {
		in.say("%q", b[:min(n, len(b))])
		return nil
	}
	return err
}

// sayFile says the contents of a file, up to a bound.
func (in *inside) sayFile(name string) error {
	f, err := os.Open(in.path(name))
	if err != nil {
		return err
	}
	defer f.Close()
	return in.sayRead(f.Read)
}

// sayOpened says the contents of a file that an attempt has opened.
func (in *inside) sayOpened(fd int, err error) error {
	if err != nil {
		return err
	}
	return in.sayRead(os.NewFile(uintptr(fd), "opened").Read)
}

// sayNames says the names in a folder.
func (in *inside) sayNames(name string) error {
	names, err := os.ReadDir(in.path(name))
	for _, n := range names {
		in.say("%s", n.Name())
	}
	return err
}

// put writes to a file; $key in the text stands for a parameter.
func (in *inside) put(name, text string, flags int) error {
	f, err := os.OpenFile(in.path(name), flags|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(os.Expand(text, in.get))
	return errors.Join(err, f.Close())
}

// What attempts do alike.

// reads says what is in a file.
func reads(name string) func(*inside) error {
	return func(in *inside) error { return in.sayFile(name) }
}

// puts writes to a file.
func puts(name, text string, flags int) func(*inside) error {
	return func(in *inside) error { return in.put(name, text, flags) }
}

// opens opens a file or folder, and no more.
func opens(name string, flags int) func(*inside) error {
	return func(in *inside) error { return closed(unix.Open(in.path(name), flags|unix.O_CLOEXEC, 0)) }
}

// on does something to one path.
func on(do func(path string) error, name string) func(*inside) error {
	return func(in *inside) error { return do(in.path(name)) }
}

// with does something with two paths.
func with(do func(from, to string) error, from, to string) func(*inside) error {
	return func(in *inside) error { return do(in.path(from), in.path(to)) }
}

// closed closes a descriptor whose only purpose was to show that it could be opened.
func closed(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// errOf is the error of a call whose result does not matter.
func errOf[T any](_ T, err error) error { return err }

// raw makes a system call for which there is no function, or whose function would take another way.
//
//go:uintptrescapes
func raw(nr uintptr, args ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return r, errno
	}
	return r, nil
}

// call is raw for a call whose result does not matter.
//
//go:uintptrescapes
func call(nr uintptr, args ...uintptr) error {
	_, err := raw(nr, args...)
	return err
}

// reached turns an answer that the kernel gives only after it has looked at rights into success.
func reached(err error, answers ...error) error {
	for _, a := range answers {
		if errors.Is(err, a) {
			return nil
		}
	}
	return err
}

// unless is an error unless it went as it should.
func unless(ok bool, text string) error {
	if !ok {
		return errors.New(text)
	}
	return nil
}

// failed says which step failed.
func failed(step string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	return nil
}

// ptr is a string as the kernel takes it.
func ptr(s string) *byte {
	p, _ := unix.BytePtrFromString(s)
	return p
}

// descriptor is the path of a descriptor of one's own.
func descriptor(fd uintptr) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// children are what attempts start beside themselves: the part "child".
var children = map[string]func(arg string) int{
	// say tells its argument: it has run.
	"say": func(arg string) int {
		tell(noteSay, arg)
		return 0
	},
	// wait waits until its stdin ends, at most for a time, in ms.
	"wait": func(arg string) int {
		untilEOF(os.Stdin, milliseconds(arg))
		return 0
	},
	// hold fills some MiB of memory, says so and keeps them until its stdin ends.
	"hold": func(arg string) int {
		n, _ := strconv.Atoi(arg)
		keep := fill(n << 20)
		tell(noteSay, "held "+arg)
		untilEOF(os.Stdin, time.Minute)
		return int(keep[0]) &^ 1
	},
	// spin uses a processor for a time, in ms.
	"spin": func(arg string) int {
		for end := time.Now().Add(milliseconds(arg)); time.Now().Before(end); {
		}
		return 0
	},
	// These will not go; see outliving.
	"linger":      linger,
	"fork-linger": forkLinger,
	"refork":      reforker,
}

func partChild(args []string) int {
	if len(args) != 2 || children[args[0]] == nil {
		return 2
	}
	return children[args[0]](args[1])
}

// childCommand is a command that runs a program, which is this one, as the part "child".
func childCommand(program string, args ...string) *exec.Cmd {
	return &exec.Cmd{
		Path: program, Args: append([]string{partName, "child"}, args...), Env: partEnv(os.Getenv(partVar)),
		Stdout: os.Stdout, Stderr: os.Stderr,
	}
}

func milliseconds(s string) time.Duration {
	n, _ := strconv.Atoi(s)
	return time.Duration(n) * time.Millisecond
}

// fill sets memory aside and writes to every page of it.
func fill(n int) []byte {
	b := make([]byte, n)
	for i := 0; i < n; i += page {
		b[i] = 1
	}
	return b
}

// untilEOF waits for the end of r, at most for a time.
func untilEOF(r io.Reader, most time.Duration) {
	end := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, r)
		close(end)
	}()
	select {
	case <-end:
	case <-time.After(most):
	}
}
