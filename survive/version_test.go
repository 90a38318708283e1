package survive

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
)

var update = flag.Bool("update", false, "write the state folder of this version into testdata")

// goldenHost is the name of the host in the golden state folders.
const goldenHost = "typescript"

// goldenSpec is the configuration of the host.
func goldenSpec() hostspec.Spec {
	return hostspec.Spec{
		Name: goldenHost, Command: []string{"node", "host.js"}, Dir: "/srv/ts", Env: map[string]string{"NODE_ENV": "production"},
		InheritEnv: []string{"PATH", "HOME"}, Protocol: native.New(), Transport: hostspec.TransportStdio,
	}.WithDefaults()
}

// goldenLife and goldenPast are what the golden state folders say of the host.
func goldenLife(t *testing.T, path string) *life {
	t.Helper()
	sum, err := digest(goldenSpec())
	if err != nil {
		t.Fatal(err)
	}
	return &life{
		Version: version, Life: 7, Digest: sum, Started: time.Date(2026, 11, 27, 21, 19, 5, 123456789, time.UTC),
		Signal: syscall.SIGTERM, Grace: 5 * time.Second, Epoch: 3, Open: true,
		Opening: []codec.Message{
			{Kind: codec.Response, ID: 1, Result: codec.Raw(`{"version":1}`), Size: 33},
			{Kind: codec.Notification, Method: "ready", Params: codec.Raw("null"), Trace: codec.Trace{Parent: "00-1-2-01"}},
		},
		on: disk{}, path: path,
	}
}

func goldenPast() lifecycle.Past {
	return lifecycle.Past{Life: 7, Streak: 2, Crashes: []time.Time{time.Date(2026, 11, 27, 21, 18, 0, 0, time.UTC), time.Date(2026, 11, 27, 21, 19, 0, 5, time.UTC)}}
}

// golden returns the state folder of a version.
func golden(version int) string { return filepath.Join("testdata", fmt.Sprintf("state-%d", version)) }

// TestStateOfThisVersion compares what this version writes with the golden files. A difference needs a new version, and
// the files of the one before stay.
func TestStateOfThisVersion(t *testing.T) {
	root := t.TempDir()
	if *update {
		root = golden(version)
	}
	dir := filepath.Join(root, folder, goldenHost)
	if err := goldenLife(t, filepath.Join(dir, "7"+suffix)).save(); err != nil {
		t.Fatal(err)
	}
	if err := writePast(disk{}, dir, goldenPast()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"7" + suffix, pastFile} {
		want, err := os.ReadFile(filepath.Join(golden(version), folder, goldenHost, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s of version %d:\ngot  %s\nwant %s", name, version, got, want)
		}
	}
}

// TestStateOfEachVersion reads the golden files of all versions so far.
func TestStateOfEachVersion(t *testing.T) {
	for v := 1; v <= version; v++ {
		if err := Check(golden(v)); err != nil {
			t.Error(err)
		}
		dir := filepath.Join(golden(v), folder, goldenHost)
		p, err := readPast(disk{}, dir)
		if err != nil || !reflect.DeepEqual(p, goldenPast()) {
			t.Errorf("version %d: %+v, %v", v, p, err)
		}
		want := goldenLife(t, filepath.Join(dir, "7"+suffix))
		want.Version = v
		if got := lives(disk{}, dir); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("version %d:\ngot  %+v\nwant %+v", v, got, want)
		}
	}
}

// TestNewerStateIsRefused has a file of each kind be of the next version.
func TestNewerStateIsRefused(t *testing.T) {
	for _, name := range []string{pastFile, "7" + suffix, "7/record.json"} {
		root := filepath.Join(t.TempDir(), "state[1]*")
		path := filepath.Join(root, folder, goldenHost, name)
		write := func(text string) {
			t.Helper()
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := Check(root); err != nil {
			t.Errorf("without a file: %v", err)
		}
		write(`{"version": 2, "unknown": []}`)
		want := fmt.Sprintf("the state folder is of a newer version of hostsup: %s has version 2, expected up to 1: run that version, or another state_dir", path)
		if err := Check(root); !errors.Is(err, ErrVersion) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		for _, text := range []string{`{"version": 1}`, `{"version": 0}`, "{", ""} {
			write(text)
			if err := Check(root); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}
