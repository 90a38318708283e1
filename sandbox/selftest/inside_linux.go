//go:build !hostsup_posix

package selftest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
)

// How this program is known again when it is started for a part in the test:
// by its name, and by a variable in its environment.
const (
	partName = "hostsup-selftest"
	partVar  = "HOSTSUP_SELFTEST"
)

// parts are what this program is started as; the arguments are those after
// the part's name. They are filled in by the init function below, because the
// attempts refer to what refers to them.
var parts map[string]func(args []string) int

// A process that has a part never gets past this.
func init() {
	if len(os.Args) < 2 || os.Args[0] != partName || os.Getenv(partVar) == "" {
		return
	}
	parts = map[string]func(args []string) int{
		"attempt":    partAttempt,
		"victim":     partVictim,
		"child":      partChild,
		"supervisor": partSupervisor,
		"suite":      partSuite,
	}
	part := parts[os.Args[1]]
	if part == nil {
		fmt.Fprintf(os.Stderr, "%s: no part %q\n", partName, os.Args[1])
		os.Exit(2)
	}
	leave(part(os.Args[2:]))
}

// leave ends the process at once: a program built with the race detector would
// sleep for a second where it cannot read in /proc that it should not.
func leave(code int) {
	for {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(code), 0, 0)
	}
}

// partEnv is all of the environment that a part needs: a runtime that is small
// and quick to start, and says little when it crashes.
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

// inside is an attempt's view of its confined world.
type inside struct {
	params map[string]string
	in     *bufio.Reader
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
	tell(noteBegin, "")
	defer func() {
		if p := recover(); p != nil {
			tell(notePanic, fmt.Sprint(p))
		}
	}()
	text := ""
	if err := tried(func() error { return at.do(in) }); err != nil {
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

func tell(kind, text string) {
	b, err := json.Marshal(note{kind, text})
	if err == nil {
		_, _ = os.Stdout.WriteString("\n" + noteMark + string(b) + "\n")
	}
}

// get is a parameter that prepare has set.
func (in *inside) get(key string) string {
	v, ok := in.params[key]
	if !ok {
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

// say tells the judge something: contents that should not be readable here,
// counts, addresses.
func (in *inside) say(format string, args ...any) { tell(noteSay, fmt.Sprintf(format, args...)) }

// pause waits until the outside has looked.
func (in *inside) pause() {
	tell(notePause, "")
	_, _ = in.in.ReadString('\n')
}

// child is a command that runs this program as the part "child".
func (in *inside) child(args ...string) *exec.Cmd {
	cmd := exec.Command(in.get("program"))
	cmd.Args = append([]string{partName, "child"}, args...)
	cmd.Env = partEnv(os.Getenv(partVar))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// sayFile reads all of a file, up to a bound, and says it.
func (in *inside) sayFile(path string) error {
	f := must(os.Open(path))
	defer f.Close()
	return in.sayFrom(f)
}

func (in *inside) sayFrom(f *os.File) error {
	b := make([]byte, 64<<10)
	n, err := f.Read(b)
	if n > 0 {
		in.say("%q", b[:n])
		return nil
	}
	return err
}
