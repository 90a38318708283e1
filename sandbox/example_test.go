//go:build unix

package sandbox_test

import (
	"fmt"
	"os"

	"github.com/hostsup/hostsup/sandbox"
)

// A process ends by itself, and KillTree ends the child that it left.
func ExampleNewLauncher() {
	launcher, err := sandbox.NewLauncher(sandbox.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer launcher.Close()

	path, err := sandbox.LookPath("sh", "", "/usr/bin:/bin")
	if err != nil {
		fmt.Println(err)
		return
	}
	child, err := launcher.Start(&sandbox.Command{
		Name:  "example.1",
		Path:  path,
		Args:  []string{"sh", "-c", "sleep 1000 & echo hello; exit 3"},
		Env:   []string{"PATH=/usr/bin:/bin"},
		Files: []*os.File{nil, os.Stdout, os.Stderr},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	<-child.Done()
	child.KillTree() // the sleep
	child.Release()
	fmt.Println("code", child.Exit().Code)
	// Output:
	// hello
	// code 3
}

// A StartError has the reason of a failed start.
func ExampleStartError() {
	launcher, err := sandbox.NewLauncher(sandbox.Options{Kill: sandbox.KillGroup})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer launcher.Close()

	_, err = launcher.Start(&sandbox.Command{Name: "ts.7", Path: "/usr/bin/nod", Args: []string{"nod"}})
	fmt.Println(err)
	// Output:
	// start ts.7: /usr/bin/nod: no such file or directory
}
