//go:build unix

package main

import (
	"bufio"
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// execServers are the servers that the scripts run against, by command line; missing
// ones are left out.
func execServers(t *testing.T) map[string][]string {
	t.Helper()
	servers := map[string][]string{}
	codex := os.Getenv("HOSTSUP_CODEX")
	if found, _ := filepath.Glob("../../.cache/*/node_modules/@openai/codex-linux-*/vendor/*/bin/codex"); codex == "" && len(found) > 0 {
		codex = found[0]
	}
	if codex != "" {
		path, err := filepath.Abs(codex)
		if err != nil {
			t.Fatal(err)
		}
		servers["codex"] = []string{path, "exec-server"}
	}
	for _, verb := range newApp(nil, nil, nil).root().Commands() {
		if verb.Name() == "exec-server" {
			servers["hostsup"] = []string{"hostsup", "exec-server"}
		}
	}
	return servers
}

func TestExecScripts(t *testing.T) {
	for name, server := range execServers(t) {
		t.Run(name, func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Dir: filepath.Join("testdata", "exec"),
				Setup: func(env *testscript.Env) error {
					env.Setenv("GORACE", "atexit_sleep_ms=0")
					env.Setenv("HOME", env.WorkDir)
					return shortTemp(env)
				},
				Condition: func(cond string) (bool, error) { return cond == name, nil },
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"exits":  scriptExits,
					"server": func(ts *testscript.TestScript, _ bool, args []string) { scriptServer(ts, server, args) },
					"cutter": scriptCutter,
					"told":   scriptTold,
					"send":   scriptSend,
					"until":  scriptUntil,
				},
			})
		})
	}
}

// server [ARG…]: starts the server, which stops with the script, and sets $URL to
// its address.
func scriptServer(ts *testscript.TestScript, command, args []string) {
	program := command[0]
	if program == "hostsup" {
		program = filepath.Join(filepath.SplitList(os.Getenv("PATH"))[0], program)
	}
	cmd := exec.Command(program, append(append(command[1:len(command):len(command)], "--listen", "ws://127.0.0.1:0"), args...)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + ts.Getenv("HOME"), "CODEX_HOME=" + ts.Getenv("HOME"), "GORACE=atexit_sleep_ms=0"}
	cmd.Dir = ts.Getenv("WORK")
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		timer := time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() })
		cmd.Wait()
		timer.Stop()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	ts.Setenv("URL", strings.TrimSpace(line))
}

// cutter: puts a proxy in front of $URL that cuts every connection after half a
// second, three times, and sets $CUTURL to its address.
func scriptCutter(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	to := strings.TrimPrefix(ts.Getenv("URL"), "ws://")
	go func() {
		for n := 0; ; n++ {
			a, err := l.Accept()
			if err != nil {
				return
			}
			b, err := net.Dial("tcp", to)
			if err != nil {
				a.Close()
				continue
			}
			end := func() { a.Close(); b.Close() }
			if n < 3 {
				time.AfterFunc(500*time.Millisecond, end)
			}
			go func() { defer end(); _, _ = bufio.NewReader(a).WriteTo(b) }()
			go func() { defer end(); _, _ = bufio.NewReader(b).WriteTo(a) }()
		}
	}()
	ts.Setenv("CUTURL", "ws://"+l.Addr().String())
}

// told FILE TEXT: waits until a file has a text.
func scriptTold(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(await(20*time.Second, func() bool {
		b, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && bytes.Contains(b, []byte(args[1]))
	}))
}

// until TEXT COMMAND…: runs a command until it prints a text.
func scriptUntil(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(await(time.Minute, func() bool {
		return ts.Exec(args[1], args[2:]...) == nil && strings.Contains(ts.ReadFile("stdout"), args[0])
	}))
}

// send SIGNAL: sends a signal to the last background command of the script.
func scriptSend(ts *testscript.TestScript, _ bool, args []string) {
	cmds := ts.BackgroundCmds()
	ts.Check(cmds[len(cmds)-1].Process.Signal(signals[args[0]]))
}
