package handover

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
)

// playVar has this program take over, as its value says.
const playVar = "HANDOVER_TEST"

func TestMain(m *testing.M) {
	if how := os.Getenv(playVar); how != "" {
		if err := play(how); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(7)
		}
		os.Exit(0)
	}
	leaktest.Main(m)
}

// play takes over: it writes what it has inherited, and answers one connection.
func play(how string) error {
	s, err := FromEnvironment("v2")
	if err != nil {
		return err
	}
	if os.Getenv(Variable) != "" {
		return errors.New("those that this process starts would take over, too")
	}
	if how == "fails" {
		s.Fail(errors.New("a reason"))
		return nil
	}
	l, f := s.Listener("socket"), s.Take("file")
	defer f.Close()
	if err := s.Ready([]string{"a", "b"}, []string{"a"}); err != nil {
		return err
	}
	if how == "late" {
		return errors.New("late")
	}
	if _, err := fmt.Fprint(f, s.Offer.Version); err != nil {
		return err
	}
	s.Running()
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = io.WriteString(c, "from "+how)
	return err
}

func command(t *testing.T, how string) (Command, *net.UnixListener, *os.File) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	socket, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return Command{
		Path: os.Args[0], Env: append(os.Environ(), playVar+"="+how), Offer: Offer{Version: "v1"},
		Files: map[string]*os.File{"file": file}, Sockets: map[string]*os.File{"socket": socket},
	}, l, file
}

// TestHandover hands a socket and a file over.
func TestHandover(t *testing.T) {
	c, l, file := command(t, "next")
	var order []string
	c.Pause, c.Resume = func() { order = append(order, "pause") }, func() { order = append(order, "resume") }
	n, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if n.Version != "v2" || !slices.Equal(n.Hosts, []string{"a", "b"}) || !slices.Equal(n.Kept, []string{"a"}) || !slices.Equal(order, []string{"pause", "resume"}) {
		t.Errorf("%+v, %v", n, order)
	}
	if err := n.Go(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, err := io.ReadAll(conn); err != nil || string(got) != "from next" {
		t.Errorf("%q, %v", got, err)
	}
	<-n.Exited()
	if got, err := os.ReadFile(file.Name()); err != nil || string(got) != "v1" || n.Code() != 0 {
		t.Errorf("%q, %v, exit %d", got, err, n.Code())
	}
}

// TestNotTaken has the other process fail before and after it is told to go on.
func TestNotTaken(t *testing.T) {
	c, _, _ := command(t, "fails")
	if _, err := Start(t.Context(), c); !errors.Is(err, ErrNotTaken) || !strings.HasSuffix(err.Error(), ": a reason") {
		t.Errorf("it fails: %v", err)
	}
	c, _, _ = command(t, "late")
	n, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Go(t.Context()); !errors.Is(err, ErrNotTaken) || !strings.HasSuffix(err.Error(), "it ended (exit status 7)") {
		t.Errorf("it ends late: %v", err)
	}
	c, _, _ = command(t, "given up")
	if n, err = Start(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	_ = n.line.file.Close() // as the end of this process does
	<-n.Exited()
	if n.Code() != 7 {
		t.Errorf("exit %d", n.Code())
	}
	c.Path = filepath.Join(t.TempDir(), "missing")
	if _, err := Start(t.Context(), c); !errors.Is(err, ErrNotTaken) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is missing: %v", err)
	}
}
