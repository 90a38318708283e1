package initial

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// shimWithin bounds how long rustup may think about a program.
const shimWithin = 5 * time.Second

// Here returns the machine that this program runs on, with dir as the current folder.
// isLoopback is Machine.IsLoopback.
func Here(ctx context.Context, dir string, isLoopback func(string) bool) Machine {
	return Machine{
		Dir: dir, LookPath: exec.LookPath, Getenv: os.LookupEnv,
		IsDir:  func(path string) bool { info, err := os.Stat(path); return err == nil && info.IsDir() },
		IsFile: func(path string) bool { info, err := os.Stat(path); return err == nil && info.Mode().IsRegular() },
		Shim:   func(program string) string { return missingComponent(ctx, program, dir) },

		IsLoopback: isLoopback,
	}
}

// missingComponent returns the component of rustup that a program in PATH needs and
// that is not installed. It returns "" if the program is no shim of rustup, if its
// component is installed, and if rustup does not tell in time.
func missingComponent(ctx context.Context, program, dir string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		return ""
	}
	name := base(path)
	rustup := behind(path)
	if rustup == "" || name == "rustup" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, shimWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, rustup, "which", name)
	cmd.Dir = dir // which may select a toolchain
	cmd.Env = append(os.Environ(), "RUSTUP_AUTO_INSTALL=0")
	var exit *exec.ExitError
	if err := cmd.Run(); ctx.Err() == nil && errors.As(err, &exit) && exit.ExitCode() > 0 {
		return name
	}
	return ""
}

// behind returns the path of rustup if the program at path is a link to it, or the same
// file under another name.
func behind(path string) string {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	if base(target) == "rustup" {
		return target
	}
	rustup, err := exec.LookPath("rustup")
	if err != nil {
		return ""
	}
	one, err1 := os.Stat(target)
	other, err2 := os.Stat(rustup)
	if err1 != nil || err2 != nil || !os.SameFile(one, other) {
		return ""
	}
	return rustup
}
