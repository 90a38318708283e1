//go:build !hostsup_posix

package shim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
)

// roleVar makes this test's program a command of a shim or a client of one.
const roleVar = "HOSTSUP_SHIM_TEST"

func TestMain(m *testing.M) {
	roles := map[string]func() error{"command": beCommand, "starter": beStarter, "client": beClient}
	if role := roles[os.Getenv(roleVar)]; role != nil {
		if err := role(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	leaktest.Main(m)
}

// frames are how many messages go each way in the traffic between a command and its
// clients. The race detector makes all of it some twenty times slower.
var frames = map[bool]int{false: 60000, true: 6000}[leaktest.Race]

// sizeOf is the size of message i with its head. Some are longer than the windows.
func sizeOf(i int) int {
	switch {
	case i%3000 == 2999:
		return 300 << 10
	case i%97 == 3:
		return 20 << 10
	}
	return 8 + i*7919%1200
}

// frame returns message i.
func frame(i int) []byte {
	b := make([]byte, sizeOf(i))
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	binary.LittleEndian.PutUint32(b[4:], uint32(i))
	for k := 8; k < len(b); k++ {
		b[k] = byte(i*31 + k*7)
	}
	return b
}

// frameAt returns the number of the message that begins at an offset.
func frameAt(offset uint64) (int, error) {
	at := uint64(0)
	for i := 0; i <= frames; i++ {
		if at == offset {
			return i, nil
		}
		at += uint64(sizeOf(i))
	}
	return 0, fmt.Errorf("no message begins at %d", offset)
}

// readFrames reads messages from number i on, and calls f for each with the offset after
// it, until the end of r or until there are n.
func readFrames(r io.Reader, i int, f func(i int, b []byte) error) error {
	for ; ; i++ {
		want := frame(i)
		got := make([]byte, len(want))
		n, err := io.ReadFull(r, got)
		if n == 0 && err == io.EOF {
			if i != frames {
				return fmt.Errorf("%d messages, expected %d", i, frames)
			}
			return nil
		}
		if string(got[:n]) != string(want) {
			if err == nil {
				err = errors.New("another message")
			}
			return fmt.Errorf("message %d: %d bytes, expected %d: %w", i, n, len(want), err)
		}
		if err := f(i, got); err != nil {
			return err
		}
	}
}

// beCommand writes all messages, and expects the same. It says each thousand that it has
// read on stderr, and exits with code 7.
func beCommand() error {
	read := make(chan error, 1)
	go func() { // ends with stdin
		read <- readFrames(os.Stdin, 0, func(i int, _ []byte) error {
			if i%1000 == 999 {
				fmt.Fprintf(os.Stderr, "read %d\n", i+1)
			}
			return nil
		})
	}()
	for i := range frames {
		if _, err := os.Stdout.Write(frame(i)); err != nil {
			return err
		}
	}
	if err := <-read; err != nil {
		return err
	}
	os.Exit(7)
	return nil
}
