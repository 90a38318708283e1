package capture_test

import (
	"context"
	"fmt"
	"os"

	"github.com/hostsup/hostsup/internal/capture"
)

func ExampleNew() {
	log := capture.New(capture.Options{}) // memory only; with Dir and Name also files
	defer log.Close()

	r, w, err := os.Pipe() // w becomes the host's stderr
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprint(w, "listening\nassertion failed")
	_ = w.Close() // the host dies

	c := log.Capture(r, capture.Stderr, 1)
	<-c.Done()
	for _, line := range log.TailOfLife(1, 200) {
		fmt.Println(line.Seq, line.Stream, line.Text)
	}
	// Output:
	// 1 stderr listening
	// 2 stderr assertion failed
}

func ExampleLog_Follow() {
	log := capture.New(capture.Options{})
	log.Note(1, "first")
	log.Note(1, "second")
	log.Note(1, "third")
	_ = log.Close() // ends the followers, once they have seen all

	for line := range log.Follow(context.Background(), 2) {
		if line.Lost > 0 {
			fmt.Println("…", line.Lost, "lines were missed")
		}
		fmt.Println(line.Text)
	}
	// Output:
	// second
	// third
}

func ExampleLog_History() {
	dir, err := os.MkdirTemp("", "logs")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	log := capture.New(capture.Options{Dir: dir, Name: "typescript", Ring: 1})
	log.Note(1, "only in the file by now")
	log.Note(1, "in memory")
	_ = log.Close()

	lines, err := log.History(5000)
	for _, line := range lines {
		fmt.Println(line.Text)
	}
	fmt.Println(err)
	// Output:
	// only in the file by now
	// in memory
	// <nil>
}
