//go:build unix

package execserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/hostsup/hostsup/execserver"
	"github.com/hostsup/hostsup/execserver/server"
)

// serve runs a server in this program and connects a client to it.
func serve() (*execserver.Client, func()) {
	s, err := server.Start(server.Options{}) // at any port of loopback
	if err != nil {
		log.Fatal(err)
	}
	c := execserver.New(execserver.WebSocket{URL: s.URL()}, execserver.Options{})
	return c, func() {
		c.Close()
		if err := s.Stop(context.Background()); err != nil {
			log.Fatal(err)
		}
	}
}

func Example() {
	client, stop := serve()
	defer stop()

	out, err := client.Command(context.Background(), "echo", "from", "the", "server").Output()
	fmt.Printf("%s%v\n", out, err)
	// Output:
	// from the server
	// <nil>
}

// Where a command runs and what it sees is said as with os/exec.
func ExampleClient_Command() {
	client, stop := serve()
	defer stop()

	cmd := client.Command(context.Background(), "sh", "-c", `echo "$GREETING from $(pwd)"; read name; echo "I am $name"`)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin", "GREETING=hello"}
	cmd.Stdin = strings.NewReader("a shell\n")
	cmd.Stdout = os.Stdout
	if err := cmd.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// hello from /
	// I am a shell
}

// The errors of a command tell apart what is missing and what has failed.
func ExampleExitError() {
	client, stop := serve()
	defer stop()
	ctx := context.Background()

	err := client.Command(ctx, "no-such-program").Run()
	fmt.Println(errors.Is(err, fs.ErrNotExist))

	_, err = client.Command(ctx, "sh", "-c", "echo out of paper >&2; exit 3").Output()
	var exit *execserver.ExitError
	if errors.As(err, &exit) {
		fmt.Printf("%v: %s", exit, exit.Stderr)
	}
	// Output:
	// true
	// exit status 3: out of paper
}

func ExampleCmd_StdoutPipe() {
	client, stop := serve()
	defer stop()

	cmd := client.Command(context.Background(), "sort")
	in, err := cmd.StdinPipe()
	if err != nil {
		log.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		log.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(in, "pear")
	fmt.Fprintln(in, "apple")
	in.Close()
	if err := cmd.Wait(); err != nil {
		log.Fatal(err)
	}
	sorted, _ := io.ReadAll(out)
	fmt.Printf("%s", sorted)
	// Output:
	// apple
	// pear
}

func ExampleFS() {
	client, stop := serve()
	defer stop()
	ctx, files := context.Background(), client.FS()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	if err := files.MkdirAll(ctx, filepath.Join(dir, "a/b")); err != nil {
		log.Fatal(err)
	}
	if err := files.WriteFile(ctx, filepath.Join(dir, "a/b/new.txt"), []byte("content")); err != nil {
		log.Fatal(err)
	}
	info, err := files.Stat(ctx, filepath.Join(dir, "a/b/new.txt"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(info.Name(), info.Size())
	_, err = files.ReadFile(ctx, filepath.Join(dir, "missing"))
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	// Output:
	// new.txt 7
	// true
}

// Whatever works on an fs.FS works on the files of the server.
func ExampleFS_Dir() {
	client, stop := serve()
	defer stop()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"a.txt", "b.txt", "c.md"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("in "+name), 0o600); err != nil {
			log.Fatal(err)
		}
	}

	fsys := client.FS().Dir(context.Background(), dir)
	names, err := fs.Glob(fsys, "*.txt")
	fmt.Println(names, err)
	text, err := fs.ReadFile(fsys, "c.md")
	fmt.Printf("%s %v\n", text, err)
	// Output:
	// [a.txt b.txt] <nil>
	// in c.md <nil>
}

func ExampleClient_RoundTripper() {
	client, stop := serve()
	defer stop()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/page", http.StatusFound)
			return
		}
		fmt.Fprintf(w, "this is %s", r.URL.Path)
	}))
	defer web.Close()

	resp, err := (&http.Client{Transport: client.RoundTripper()}).Get(web.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Printf("%s: %s %v\n", resp.Status, body, err)
	// Output: 200 OK: this is /page <nil>
}
