//go:build !hostsup_posix

package selftest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
)

// Environments are told as digests, so that nobody's secrets go through a pipe
// or into a report.

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:12])
}

func sayDigests(in *inside, env []string) error {
	n := 0
	for _, e := range env {
		if e != "" {
			in.say("%s", digest(e))
			n++
		}
	}
	if n == 0 {
		return errors.New("it is empty")
	}
	return nil
}

// knowsEnvironment is a judge: none of this process's variables may be known.
func knowsEnvironment(_ *stage, r *run1) finding {
	own := partEnv("") // no secrets
	n := 0
	for _, e := range os.Environ() {
		if !slices.Contains(own, e) && slices.Contains(r.said, digest(e)) {
			n++
		}
	}
	if n > 0 {
		return escaped("%d variables of the supervisor's", n)
	}
	if r.over && r.err == "" {
		return held("%d variables, none of the supervisor's", len(r.said))
	}
	return held("%s", r.how())
}

// leaks are attempts to learn about the supervisor and its machine.
func leaks() []*attempt {
	return []*attempt{
		{
			class: Leaks, name: "variables", about: "find the supervisor's environment in its own",
			do:    func(in *inside) error { return sayDigests(in, os.Environ()) },
			judge: knowsEnvironment,
		},
		{
			class: Leaks, name: "host-name", about: "learn the machine's name",
			do: func(in *inside) error {
				name, err := os.Hostname()
				in.say("name %s", name)
				return err
			},
			judge: func(_ *stage, r *run1) finding {
				if name, err := os.Hostname(); err == nil && slices.Contains(r.said, "name "+name) {
					return escaped("it is the machine's")
				}
				return held("%s", r.how())
			},
			named: []string{"machine's name"}, shown: true,
		},
		{
			class: Leaks, name: "interfaces", about: "learn the machine's network devices",
			prepare: func(*stage) error {
				if len(devicesOfNet()) == 0 {
					return missing("a network device besides lo")
				}
				return nil
			},
			do: func(in *inside) error {
				names, err := os.ReadDir("/sys/class/net")
				for _, n := range names {
					in.say("%s", n.Name())
				}
				return err
			},
			judge: func(_ *stage, r *run1) finding {
				for _, name := range devicesOfNet() {
					if slices.Contains(r.said, name) {
						return escaped("there is %s", name)
					}
				}
				return held("%s", r.how())
			},
		},
		{
			class: Leaks, name: "cgroup", about: "learn where the supervisor keeps its cgroups",
			do: func(in *inside) error {
				b, err := os.ReadFile("/proc/self/cgroup")
				in.say("%s", b)
				return err
			},
			change: limited,
			judge: func(_ *stage, r *run1) finding {
				own, _ := os.ReadFile("/proc/self/cgroup")
				for line := range strings.Lines(string(own)) {
					_, path, _ := strings.Cut(strings.TrimSpace(line), ":/")
					if path != "" && r.saw(path) {
						return escaped("its own is in /%s", path)
					}
				}
				if r.saw("/hostsup-") {
					return escaped("%s", r.last())
				}
				return held("%s", r.how())
			},
		},
		{
			class: Leaks, name: "kernel-command-line", about: "read how the machine was booted",
			do: func(*inside) error {
				b, err := os.ReadFile("/proc/cmdline")
				if err == nil && len(strings.TrimSpace(string(b))) == 0 {
					return errors.New("it is empty")
				}
				return err
			},
		},
		{
			class: Leaks, name: "kernel-symbols", about: "learn where the kernel lies in memory",
			do: func(*inside) error {
				f := must(os.Open("/proc/kallsyms"))
				defer f.Close()
				b := make([]byte, 16)
				must(f.Read(b))
				if strings.Trim(string(b), "0") == "" {
					return errors.New("the addresses are hidden")
				}
				return nil
			},
		},
	}
}

// devicesOfNet are the machine's network devices without the loopback one.
func devicesOfNet() []string {
	all, _ := net.Interfaces()
	var names []string
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 {
			names = append(names, i.Name)
		}
	}
	return names
}
