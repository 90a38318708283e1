package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// programs are those whose commands are looked at in sentences. The hostsup command is
// checked by TestVerbsInProse.
var programs = regexp.MustCompile(`^(?:[A-Z_]+=\S* )*(?:go|make|cd|\./test|\.ci/run|packaging/\w+|systemctl|systemd-run|systemd-analyze|journalctl|sysctl|podman|docker|npm|npx|pip|apt|apt-get|dpkg|brew|curl|wget|openssl|ulimit|git|sudo|cat|ls|kill|pkill|ps|node|python3?|promtool|wine)(?: |$)`)

// alone are names of programs that prose may mention without a command.
var alone = []string{"go", "make", "cd", "npm", "npx", "pip", "git", "sudo", "cat", "ls", "kill", "ps", "node", "python", "python3", "podman", "docker", "curl", "openssl", "systemctl", "systemd-run", "systemd-analyze", "journalctl", "wine"}

// notRun are the commands in sentences that no test runs or checks, each with the reason.
var notRun = map[string]string{
	"systemctl status":                      "needs systemd as the first process; integration/service_linux_test.go plays the service manager",
	"systemctl --user enable --now hostsup": "needs systemd as the first process; packaging/check verifies the unit",
	"journalctl -t typescript -f":           "needs the journal of systemd; tests of internal/journald play it",
	"journalctl -t hostsup HOST=typescript": "needs the journal of systemd; tests of internal/journald play it",
	"podman build":                          "needs a container runtime and images from a network; packaging/check looks at what is copied",
	"docker build":                          "needs a container runtime and images from a network; packaging/check looks at what is copied",
	"npm install code-server":               "needs a network; ./test peers installs it by the lock file",
	"openssl rand -hex 32":                  "is a program of others, and any text of that length will do",
	"go build -o greeter .":                 "is for the reader's program: integration/docs_hosts_linux_test.go compiles it",
	"ulimit -n":                             "is a command of the shell",
	"ulimit -Hc":                            "is a command of the shell",
	"cat /proc/4711/wchan":                  "is about a process that cannot be killed",
	"systemd-run --user --scope -p Delegate=yes hostsup …":                                                                                          "needs a session of systemd",
	"systemd-run --user --scope -p Delegate=yes hostsup run":                                                                                        "needs a session of systemd",
	"systemd-run --user --scope -p Delegate=yes hostsup sandbox run":                                                                                "needs a session of systemd",
	"go test -c ./sandbox && systemd-run --wait --pipe -p Delegate=yes -p DelegateSubgroup=supervisor $PWD/sandbox.test -test.run 'Limit|Confined'": "needs systemd as the first process",
	"kill -9": "is about any process",
}

// TestCommandsInProse checks the commands of other programs than hostsup in the middle of
// sentences, and in the comments at the top of scripts: a test that is named with go test
// -run exists in that package, a target of make and a step of ./test exist. Every other
// command is in the list notRun, with the reason.
func TestCommandsInProse(t *testing.T) {
	tree := readTree(t)
	checked, seen := 0, map[string]bool{}
	for _, page := range pagesOfProse(t) {
		for _, c := range spansOf(t, page) {
			if !programs.MatchString(c) || slices.Contains(alone, c) {
				continue
			}
			checked++
			if _, ok := notRun[c]; ok {
				seen[c] = true
				continue
			}
			if err := tree.command(c); err != nil {
				t.Errorf("%s: `%s`: %v", filepath.Base(page), c, err)
			}
		}
	}
	for _, script := range []string{"test", "packaging/build", "packaging/check", "packaging/Containerfile"} {
		text, err := os.ReadFile(filepath.Join("../..", script))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^#   (\S.*?)(?:  .*)?$`).FindAllStringSubmatch(string(text), -1) {
			if c := m[1]; programs.MatchString(c) && !strings.HasPrefix(c, "podman ") { // see podman build
				checked++
				if err := tree.command(c); err != nil {
					t.Errorf("%s: %s: %v", script, c, err)
				}
			}
		}
	}
	for c := range notRun {
		if !seen[c] {
			t.Errorf("no page has the command %q of the list", c)
		}
	}
	if checked < 40 {
		t.Errorf("only %d commands were found", checked)
	}
	for _, c := range []string{
		"go test -run TestNoSuchTest ./config", "go test -run 'Parse(' ./config", "go test ./no-such-package", "go test ./config -no-such-flag",
		"go test -bench NoSuchBenchmark ./sandbox", "go run ./no-such-program", "cd bench && go run . no-such-section", "make no-such-target",
		"./test no-such-step", "packaging/no-such-script", "curl localhost",
	} {
		if tree.command(c) == nil {
			t.Errorf("of %q nothing is said to be wrong", c)
		}
	}
}

// spansOf returns the code in the sentences of a page.
func spansOf(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllSubmatch(withoutBlocks(text), -1) {
		out = append(out, strings.Join(strings.Fields(string(m[1])), " "))
	}
	return out
}

// withoutBlocks returns a page without its fenced blocks.
func withoutBlocks(text []byte) []byte {
	return regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAll(text, nil)
}

// command says what is wrong with a command, as far as that can be seen in the source.
func (tr *tree) command(text string) error {
	dir, words := "", wordsOf(text)
	for len(words) > 0 && regexp.MustCompile(`^[A-Z_]+=`).MatchString(words[0]) {
		words = words[1:]
	}
	if len(words) > 3 && words[0] == "cd" && words[2] == "&&" {
		dir, words = words[1], words[3:]
	}
	switch {
	case words[0] == "go" && len(words) > 1:
		return tr.goCommand(dir, words[1], words[2:])
	case words[0] == "make":
		for _, target := range words[1:] {
			if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).Match(tr.makefile) {
				return fmt.Errorf("the Makefile has no target %s", target)
			}
		}
		return nil
	case words[0] == "./test":
		steps := strings.Fields(string(regexp.MustCompile(`(?m)^steps="(.*)"$`).FindSubmatch(tr.testScript)[1]))
		for _, step := range words[1:] {
			if step[0] == '-' {
				return nil // flags of go test
			}
			if step != "all" && !slices.Contains(steps, step) {
				return fmt.Errorf("./test has no step %s", step)
			}
		}
		return nil
	case strings.HasPrefix(words[0], "packaging/"), words[0] == ".ci/run":
		_, err := os.Stat(filepath.Join(tr.root, words[0]))
		return err
	}
	return fmt.Errorf("no test runs it; add it to the list with the reason")
}

// wordsOf splits a command as a shell does.
func wordsOf(text string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1]+m[2])
	}
	return out
}

// goCommand checks a command of the go command.
func (tr *tree) goCommand(dir, verb string, args []string) error {
	var run, packages, rest, flags []string
	values := map[string]*[]string{"-run": &run, "-bench": &run, "-fuzz": &run}
	skips := []string{"-tags", "-timeout", "-count", "-p", "-o", "-C", "-ldflags"}
	for i := 0; i < len(args); i++ {
		name, value, has := strings.Cut(args[i], "=")
		switch {
		case name[0] != '-':
			if (name == "." || strings.HasPrefix(name, "./")) && len(rest) == 0 {
				packages = append(packages, name)
			} else {
				rest = append(rest, name)
			}
		case slices.Contains(skips, name), values[name] != nil:
			if !has {
				if i++; i == len(args) {
					return fmt.Errorf("%s has no value", name)
				}
				value = args[i]
			}
			if v := values[name]; v != nil {
				*v = append(*v, value)
			}
		case slices.Contains([]string{"-v", "-race", "-short", "-h", "-json"}, name):
		default:
			flags = append(flags, strings.TrimLeft(name, "-"))
		}
	}
	var found []*folder
	for _, pattern := range packages {
		got := tr.match(filepath.ToSlash(filepath.Join(dir, pattern)))
		if len(got) == 0 {
			return fmt.Errorf("no package is at %s", pattern)
		}
		found = append(found, got...)
	}
	switch verb {
	case "test":
		return tested(found, run, flags)
	case "run":
		for _, f := range found {
			if f.name != "main" {
				return fmt.Errorf("%s is no program", f.path)
			}
			for _, word := range rest {
				if dir == "bench" && word != "all" && regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(word) && !bytes.Contains(f.source, []byte(strconv.Quote(word))) {
					return fmt.Errorf("%s has no section %s", dir, word)
				}
			}
		}
		return nil
	case "build", "vet", "mod", "work", "install":
		return nil
	}
	return fmt.Errorf("go has no command %s", verb)
}

// tested checks what go test is given: patterns of tests, and flags of the packages.
func tested(found []*folder, patterns, flags []string) error {
	for _, p := range patterns {
		if p == "none" || p == "^$" {
			continue
		}
		name, _, _ := strings.Cut(p, "/") // subtests are made when they run
		re, err := regexp.Compile(name)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(found, func(f *folder) bool { return slices.ContainsFunc(f.tests, re.MatchString) }) {
			return fmt.Errorf("no test, benchmark or fuzz target matches %s", p)
		}
	}
	for _, name := range flags {
		declared := regexp.MustCompile(`flag\.\w+\((?:&?\w+, )?"` + regexp.QuoteMeta(name) + `"`)
		if !slices.ContainsFunc(found, func(f *folder) bool { return declared.Match(f.source) }) {
			return fmt.Errorf("no flag -%s is declared there", name)
		}
	}
	return nil
}
