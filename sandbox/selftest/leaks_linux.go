//go:build !hostsup_posix

package selftest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"slices"
	"strings"
)

// Environments are told as digests, so that nobody's secrets go through a pipe or into a report.

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:12])
}

func sayDigests(in *inside, env []string) error {
	env = slices.DeleteFunc(env, func(e string) bool { return e == "" })
	for _, e := range env {
		in.say("%s", digest(e))
	}
	return unless(len(env) > 0, "it is empty")
}

// knowsEnvironment is a judge: none of this process's variables may be known.
func knowsEnvironment(_ *stage, r *trial) finding {
	own := partEnv("") // no secrets
	n := 0
	for _, e := range os.Environ() {
		if !slices.Contains(own, e) && slices.Contains(r.said, digest(e)) {
			n++
		}
	}
	if n == 0 && r.over && r.err == "" {
		return held("%d variables, none of the supervisor's", len(r.said))
	}
	return r.out(n > 0, "%d variables of the supervisor's", n)
}

// leaks are attempts to learn about the supervisor and its machine. With bubblewrap the supervisor's environment is in
// that of process 1, whatever is asked for.
func leaks() []*attempt {
	return family(Leaks, attempt{}, []attempt{
		{name: "variables", about: "find the supervisor's environment in its own", judge: knowsEnvironment,
			do: func(in *inside) error { return sayDigests(in, os.Environ()) }},
		{name: "host-name", about: "learn the machine's name", named: []string{"machine's name"}, shown: true,
			do: func(in *inside) error {
				name, err := os.Hostname()
				in.say("name %s", name)
				return err
			},
			judge: func(_ *stage, r *trial) finding {
				name, err := os.Hostname()
				return r.out(err == nil && slices.Contains(r.said, "name "+name), "it is the machine's")
			}},
		{name: "interfaces", about: "learn the machine's network devices", prepare: needDevice, judge: namesDevice,
			do: func(in *inside) error { return in.sayNames("/sys/class/net") }},
		{name: "cgroup", about: "learn where the supervisor keeps its cgroups", change: limited,
			do: func(in *inside) error {
				b, err := os.ReadFile("/proc/self/cgroup")
				in.say("%s", b)
				return err
			},
			judge: func(s *stage, r *trial) finding {
				for line := range strings.Lines(s.read("/proc/self/cgroup")) {
					_, path, _ := strings.Cut(strings.TrimSpace(line), ":/")
					if path != "" && r.saw(path) {
						return escaped("its own is in /%s", path)
					}
				}
				return r.out(r.saw("/hostsup-"), "%s", r.last())
			}},
		{name: "kernel-command-line", about: "read how the machine was booted", do: func(*inside) error {
			return unless(len(strings.TrimSpace(string(must(os.ReadFile("/proc/cmdline"))))) > 0, "it is empty")
		}},
		{name: "kernel-symbols", about: "learn where the kernel lies in memory", do: func(in *inside) error {
			b := make([]byte, 16)
			must(in.open("/proc/kallsyms", os.O_RDONLY).Read(b))
			return unless(strings.Trim(string(b), "0") != "", "the addresses are hidden")
		}},
	})
}
