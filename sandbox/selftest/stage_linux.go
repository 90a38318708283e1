//go:build !hostsup_posix

package selftest

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// stage is the world of one run of one attempt, made outside: folders with and without a grant, secrets, servers,
// victims. Everything on it is open to every user, so that only the sandbox is in the way.
type stage struct {
	suite   *suite
	level   policy.Level      // "" in a control
	dir     string            // of the folders
	secret  string            // random; in files and processes that are not granted
	token   string            // random; what code that must not run, or must, says
	mark    string            // random; in the environment of all that is started on it
	params  map[string]string // for inside.get
	extra   []*os.File        // given to the process as descriptors from 3 on
	ctty    bool              // a start without a sandbox makes extra[0] its controlling terminal
	cleanup []func()

	before   string      // what look described before do
	seen     string      // what watch saw; "" for nothing
	ear      chan string // what a server of ours has heard first
	ours     int         // our end of a socket that the process has the other of
	victim   *victim
	terminal *terminal
}

// The folders of a stage.
const (
	outsideDir = "outside" // not granted
	readDir    = "read"    // granted for reading
	writeDir   = "write"   // granted for writing
	workDir    = "work"    // the bounded folder
	toolsDir   = "tools"   // of the suite: granted for running

	secretFile = outsideDir + "/secret" // holds the secret
)

func newStage(su *suite, level policy.Level) (*stage, error) {
	// Short, because the path of a socket has to be.
	dir := filepath.Join(su.dir, strconv.FormatInt(su.stages.Add(1), 36))
	s := &stage{
		suite: su, level: level, dir: dir,
		secret: "secret-" + random(), token: "token-" + random(), mark: "mark-" + random(),
	}
	s.onClose(func() { _ = os.RemoveAll(dir) })
	s.params = map[string]string{
		"dir": dir, "mark": s.mark, "token": s.token, "program": su.program, "tools": su.tools, "tmp": "/tmp",
		"uid": strconv.Itoa(os.Getuid()),
	}
	if level == "" || !level.AtLeast(policy.NoCgroup) {
		// Without a /tmp of its own what is filled up is a folder here.
		s.params["tmp"] = s.path(writeDir)
	}
	err := errors.Join(
		s.folder(""), s.folder(outsideDir), s.folder(readDir), s.folder(writeDir), s.folder(workDir),
		s.file(secretFile, s.secret), s.file("read/file", "granted"), s.file("write/file", "granted"),
		os.Symlink("../"+secretFile, s.path("read/link")))
	if err != nil {
		s.close()
	}
	return s, err
}

func (s *stage) path(elem ...string) string {
	return filepath.Join(append([]string{s.dir}, elem...)...)
}

// folder makes a folder that everybody may write to.
func (s *stage) folder(name string) error {
	return errors.Join(os.Mkdir(s.path(name), 0o777), os.Chmod(s.path(name), 0o777))
}

// file writes a file that everybody may read and write.
func (s *stage) file(name, text string) error {
	if err := os.WriteFile(s.path(name), []byte(text), 0o666); err != nil {
		return err
	}
	return os.Chmod(s.path(name), 0o666)
}

// pipe makes a pipe that lasts as long as the stage at most.
func (s *stage) pipe() (r, w *os.File) {
	r, w = must2(sys.Pipe(0))
	s.onClose(func() { r.Close(); w.Close() })
	return r, w
}

func (s *stage) onClose(f func()) { s.cleanup = append(s.cleanup, f) }

func (s *stage) close() {
	for len(s.cleanup) > 0 {
		last := len(s.cleanup) - 1
		f := s.cleanup[last]
		s.cleanup = s.cleanup[:last]
		f()
	}
}

func (s *stage) set(key string, value any) { s.params[key] = fmt.Sprint(value) }

func (s *stage) num(key string) int {
	n, _ := strconv.Atoi(s.params[key])
	return n
}

func random() string {
	b := make([]byte, 12)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// What look describes.

// read is a file's content now; an error is content too.
func (s *stage) read(name string) string {
	if !filepath.IsAbs(name) {
		name = s.path(name)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func content(name string) func(*stage) string {
	return func(s *stage) string { return s.read(name) }
}

// listing describes what is in a folder.
func listing(name string) func(*stage) string {
	return func(s *stage) string {
		entries, err := os.ReadDir(s.path(name))
		return fmt.Sprintln(entries, err)
	}
}

// inode describes what stat tells, without the time of access.
func inode(name string) func(*stage) string {
	return func(s *stage) string {
		var st syscall.Stat_t
		err := syscall.Lstat(s.path(name), &st)
		return fmt.Sprintf("mode %o owner %d:%d modified %d.%d changed %d.%d %v",
			st.Mode, st.Uid, st.Gid, st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec, err)
	}
}

// Servers of ours that must not hear anything.

// serves is a prepare that opens a server, for streams or datagrams. The address "@" is an abstract name of the
// stage's own, one with ./ a path on the stage.
func serves(network, address string) func(*stage) {
	return func(s *stage) {
		own, file := strings.CutPrefix(address, "./")
		if own = s.path(own); !file {
			own = strings.Replace(address, "@", "@"+s.mark, 1)
		}
		s.ear = make(chan string, 1)
		var server io.Closer
		var at net.Addr
		var hear func() error
		if strings.HasPrefix(network, "udp") || network == "unixgram" {
			p, err := net.ListenPacket(network, own)
			need("a server", err)
			server, at, hear = p, p.LocalAddr(), func() error {
				b := make([]byte, 1024)
				n, _, err := p.ReadFrom(b)
				s.hears(string(b[:n]), err)
				return err
			}
		} else {
			l, err := net.Listen(network, own)
			need("a server", err)
			server, at, hear = l, l.Addr(), func() error {
				c, err := l.Accept()
				s.hears("a connection", err)
				if err == nil {
					c.Close() // who connects waits for this
				}
				return err
			}
		}
		over := make(chan struct{})
		go func() {
			defer close(over)
			for hear() == nil {
			}
		}()
		s.onClose(func() { server.Close(); <-over })
		s.set("address", at)
		if _, port, err := net.SplitHostPort(at.String()); err == nil {
			s.set("port", port)
		}
		if file {
			check(os.Chmod(own, 0o777))
		}
	}
}

func (s *stage) hears(what string, err error) {
	if err == nil {
		select {
		case s.ear <- what:
		default:
		}
	}
}

// patience is how long a judge waits for what may be on its way: in a control, which nothing holds, until it is there.
func (s *stage) patience(confined time.Duration) time.Duration {
	if s.level == "" {
		return 2 * time.Second
	}
	return confined
}

// Judges that many attempts have.

// unseen: the secret must not come out.
func unseen(s *stage, r *trial) finding { return r.out(r.saw(s.secret), "the secret came out") }

// notRun: code that says the token must not run.
func notRun(s *stage, r *trial) finding { return r.out(r.saw(s.token), "own code ran") }

// unheard: our server must not have heard anything.
func unheard(s *stage, r *trial) finding {
	select {
	case what := <-s.ear:
		return escaped("our server heard %s", what)
	case <-time.After(s.patience(30 * time.Millisecond)):
		return held("%s", r.how())
	}
}

// watched: watch must not have seen anything.
func watched(s *stage, r *trial) finding { return r.out(s.seen != "", "%s", s.seen) }

// sawOnly: watch must have seen this and nothing else.
func sawOnly(want string) func(*stage, *trial) finding {
	return func(s *stage, r *trial) finding {
		if s.seen == "" {
			return unclear("the result was not examined: %s", r.how())
		}
		return finding{out: s.seen != want, evidence: s.seen}
	}
}

// found: what must not be there from outside, described.
func found(what func(s *stage) string) func(*stage, *trial) finding {
	return func(s *stage, r *trial) finding {
		text := what(s)
		return r.out(text != "", "%s", text)
	}
}

// atMost: the number that watch saw, or else that was said last, must not be greater.
func atMost(limit int, unit string) func(*stage, *trial) finding {
	return func(s *stage, r *trial) finding {
		n := 0
		_, _ = fmt.Sscan(cmp.Or(s.seen, r.last()), &n)
		return finding{out: n > limit, evidence: fmt.Sprintf("%d %s, and %d are allowed: %s", n, unit, limit, r.how())}
	}
}
