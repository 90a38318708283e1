package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// On a terminal the command gets one: input reaches it raw, and afterwards the client's
// terminal is restored.
func TestExecTerminal(t *testing.T) {
	for name, server := range execServers(t) {
		t.Run(name, func(t *testing.T) { execTerminal(t, server) })
	}
}

func execTerminal(t *testing.T, server []string) {
	url := startExecServer(t, server)
	other, tty := terminal(t, 90)
	before := stty(t, tty)
	var errout bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- newApp(tty, tty, &errout).main(t.Context(), []string{"exec", "--url", url, "--", "sh", "-c", `trap "echo int" INT; tty; stty size; while ! read -r x; do :; done; printf 'got %s\n' "$x"; exit 7`})
	}()
	var got []byte
	until := func(text string) {
		t.Helper()
		buf := make([]byte, 4096)
		for !bytes.Contains(got, []byte(text)) {
			if err := other.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Log(err)
			}
			n, err := other.Read(buf)
			if err != nil {
				t.Fatalf("%v after %q", err, got)
			}
			got = append(got, buf[:n]...)
		}
	}
	until("/dev/pts/")
	until("\r\n")
	if during := stty(t, tty); during == before || !strings.Contains(during, "-icanon") {
		t.Errorf("not raw: %s", during)
	}
	if server[0] == "hostsup" {
		until("24 90\r\n")
	}
	if _, err := other.WriteString("\x03"); err != nil { // reaches the command, not the client
		t.Fatal(err)
	}
	until("int\r\n")
	if _, err := other.WriteString("word\r"); err != nil {
		t.Fatal(err)
	}
	until("got word\r\n")
	if c := <-code; c != 7 {
		t.Errorf("exit %d, %s", c, errout.String())
	}
	if after := stty(t, tty); after != before {
		t.Errorf("the terminal is left as\n%s\nit was\n%s", after, before)
	}
}

func stty(t *testing.T, tty *os.File) string {
	t.Helper()
	cmd := exec.Command("stty", "-a")
	cmd.Stdin = tty
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// startExecServer starts a server that stops at the end of the test.
func startExecServer(t *testing.T, command []string) string {
	t.Helper()
	if command[0] == "hostsup" {
		path, err := exec.LookPath("hostsup")
		if err != nil {
			t.Fatal(err)
		}
		command = append([]string{path}, command[1:]...)
	}
	cmd := exec.Command(command[0], append(command[1:len(command):len(command)], "--listen", "ws://127.0.0.1:0")...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "CODEX_HOME=" + t.TempDir(), "GORACE=atexit_sleep_ms=0"}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	line := make([]byte, 100)
	n, err := r.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(line[:n]))
}

// The detach keys leave the command running and restore the terminal; so does a
// panic of the client.
func TestExecAttachTerminal(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	url := startExecServer(t, []string{"hostsup", "exec-server"})
	other, tty := terminal(t, 90)
	before := stty(t, tty)
	run := func(args ...string) (code int, out, errout string) {
		var o, e bytes.Buffer
		code = newApp(nil, &o, &e).main(t.Context(), append([]string{"exec"}, args...))
		return code, o.String(), e.String()
	}
	code, id, errout := run("--url", url, "-d", "-t", "--", "sh", "-c", `while read -r x; do printf 'got %s\n' "$x"; done; exit 7`)
	if code != 0 {
		t.Fatal(errout)
	}
	id = strings.TrimSpace(id)
	defer run("kill", id)
	for i, keys := range []string{"first\r\x10\x11", "\x10second\r\x10\x10\x11"} { // ctrl-p alone is the command's
		ended := make(chan int, 1)
		var told bytes.Buffer
		go func() { ended <- newApp(tty, tty, &told).main(t.Context(), []string{"exec", "attach", id}) }()
		if err := await(time.Minute, func() bool { return strings.Contains(stty(t, tty), "-icanon") }); err != nil {
			t.Fatal(err)
		}
		if _, err := other.WriteString(keys); err != nil {
			t.Fatal(err)
		}
		if c := <-ended; c != 0 || !strings.Contains(told.String(), "detached: ") {
			t.Errorf("exit %d, %s", c, told.String())
		}
		if after := stty(t, tty); after != before {
			t.Errorf("after %d the terminal is left as\n%s\nit was\n%s", i, after, before)
		}
	}
	var logs string
	if err := await(time.Minute, func() bool {
		_, logs, errout = run("logs", id)
		return strings.Contains(logs, "got first") && strings.Contains(logs, "second\r\n")
	}); err != nil {
		t.Errorf("%q %s", logs, errout)
	}

	s := &screenOf{in: tty, out: tty}
	was := stty(t, tty)
	func() {
		defer func() { _ = recover() }()
		defer s.restoreInPanic()
		if err := s.raw(); err != nil {
			t.Fatal(err)
		}
		panic("a defect")
	}()
	if after := stty(t, tty); after != was {
		t.Errorf("after a panic the terminal is left as\n%s", after)
	}
}

// A command must never be taken for a verb below exec.
func TestExecVerbsShadowNoCommand(t *testing.T) {
	root := newApp(nil, nil, nil).root()
	for given, want := range map[string]string{
		"exec ps":                          "exec ps",
		"exec ps --json":                   "exec ps --json",
		"exec --url u ps":                  "exec --url u -- ps",
		"exec --url=u -t ps -x":            "exec --url=u -t -- ps -x",
		"exec -it --url u kill x":          "exec -it --url u -- kill x",
		"exec --url u -- ps":               "exec --url u -- ps",
		"exec -- ps":                       "exec -- ps",
		"-c f exec --env A=b -d logs":      "-c f exec --env A=b -d -- logs",
		"--config f exec attach i":         "--config f exec attach i",
		"exec attach --detach-keys a i":    "exec attach --detach-keys a i",
		"status exec":                      "status exec",
		"sandbox run --profile p exec t x": "sandbox run --profile p exec t x",
	} {
		if got := strings.Join(beforeCommand(root, strings.Fields(given)), " "); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}
