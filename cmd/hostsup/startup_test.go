//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// What packages initialise delays every command, also those that do not need it. Patterns and
// tables are made when they are first used.
func TestPackagesInitialiseLittle(t *testing.T) {
	const module, most = "github.com/hostsup/hostsup/", 32 << 10
	cmd := exec.CommandContext(t.Context(), "hostsup", "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		t.Fatal(err, said.String())
	}
	seen := 0
	for lines := bufio.NewScanner(&said); lines.Scan(); {
		// init PACKAGE @0.1 ms, 0.01 ms clock, 1234 bytes, 5 allocs
		words := strings.Fields(lines.Text())
		if len(words) < 9 || words[0] != "init" || !strings.HasPrefix(words[1], module) || words[1] == module+"cmd/hostsup" { // which has its tests here
			continue
		}
		seen++
		size, err := strconv.Atoi(words[7])
		if err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		if size > most {
			t.Errorf("%s allocates %d bytes before the program runs; expected at most %d", words[1], size, most)
		}
	}
	if seen < 10 {
		t.Errorf("%d packages of this module are seen: %s", seen, said.String())
	}
}
