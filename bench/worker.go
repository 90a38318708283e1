package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/hostsup/hostsup/bench/peers"
	"github.com/hostsup/hostsup/sandbox"
)

// exitMissing is the exit code of a worker whose peer is not on this machine.
const exitMissing = 77

// workers are the measurements that have a process to themselves, so that the
// heap, the threads and the faults of one are not those of another.
func workers() map[string]func(args []string) error {
	return map[string]func([]string) error{
		"echo":             printed(echoWorker),
		"many-hostsup":     manyHostsup,
		"many-loop":        manyLoop,
		"reload":           printed(reloadWorker),
		"idle":             idleWorker,
		"hold-hostsup":     holdHostsup,
		"hold-loop":        holdLoop,
		"capture":          printed(captureWorker),
		"crashloop":        printed(crashloopWorker),
		"pending":          printed(pendingWorker),
		"proxy":            printed(proxyWorker),
		"exec":             printed(execWorker),
		"neovim":           printed(neovimWorker),
		"python":           printed(pythonWorker),
		"jsonrpc":          printed(jsonrpcWorker),
		"attach":           printed(attachWorker),
		"client":           printed(clientWorker),
		"vscode":           printed(vscodeWorker),
		"search":           printed(searchWorker),
		"files":            printed(filesWorker),
		"language":         printed(languageWorker),
		"relay":            relay,
		"attach-hub":       attachHub,
		"attach-host":      attachHost,
		"typescript":       printed(typescriptWorker),
		"typescript-start": printed(typescriptStart),
	}
}

// printed makes a worker of a function: what it returns is printed as JSON,
// for hire to read.
func printed[T any](f func(args []string) (T, error)) func([]string) error {
	return func(args []string) error {
		out, err := f(args)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(out)
	}
}

func work(args []string) error {
	if len(args) == 0 {
		return errors.New("no worker named")
	}
	w, ok := workers()[args[0]]
	if !ok {
		return fmt.Errorf("no worker %q", args[0])
	}
	sandbox.CloseInheritedOnExec() // what a shell has left open is none of the peers' business
	return w(args[1:])
}

// workerCommand is the command line of a worker.
func workerCommand(args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, append([]string{"worker"}, args...)...)
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// hire runs a worker to its end and returns what it found.
func hire[T any](args ...string) (T, error) {
	var out T
	cmd, err := workerCommand(args...)
	if err != nil {
		return out, err
	}
	var buf bytes.Buffer
	cmd.Stdout = &buf
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == exitMissing {
			err = peers.ErrMissing
		}
		return out, fmt.Errorf("worker %v: %w", args, err)
	}
	return out, json.Unmarshal(buf.Bytes(), &out)
}
