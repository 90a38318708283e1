package peers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// ProfileEnv names the folder that profiles go to; nothing is profiled
// without it.
const ProfileEnv = "HOSTSUP_BENCH_PROFILE"

// Profile begins a CPU profile of this process when one is wanted, in a file
// of that name. What it returns ends it and never is nil.
func Profile(name string) (stop func(), err error) {
	dir := os.Getenv(ProfileEnv)
	if dir == "" {
		return func() {}, nil
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s.%d.pprof", name, os.Getpid())))
	if err != nil {
		return func() {}, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return func() {}, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}
