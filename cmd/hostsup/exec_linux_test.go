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

// On a terminal the command has one: what is typed reaches it raw, and ours is
// as before afterwards.
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
	if _, err := other.WriteString("\x03"); err != nil { // reaches the command, not us
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

// startExecServer starts a server that ends with the test.
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
