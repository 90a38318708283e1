//go:build !hostsup_posix

package shim

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the record of this version into testdata")

// TestRecordOfEachVersion reads the golden records of all versions so far, and compares what this version writes
// with its own.
func TestRecordOfEachVersion(t *testing.T) {
	record := Record{Version: RecordVersion, Name: "typescript.7", Shim: Process{4711, 1234567}, Command: Process{4712, 1234568}, Cgroup: "/system.slice/hostsup.service"}
	golden := func(version int) string { return filepath.Join("testdata", fmt.Sprintf("state-%d", version)) }
	dir := t.TempDir()
	if *update {
		dir = golden(RecordVersion)
	}
	if err := record.write(dir); err != nil {
		t.Fatal(err)
	}
	for v := 1; v <= RecordVersion; v++ {
		want := record
		want.Version = v
		if got, err := readRecord(golden(v)); err != nil || *got != want {
			t.Errorf("version %d: %+v, %v", v, got, err)
		}
	}
	got, err := os.ReadFile(filepath.Join(dir, RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	if want, err := os.ReadFile(filepath.Join(golden(RecordVersion), RecordFile)); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got  %s\nwant %s, %v", got, want, err)
	}
}
