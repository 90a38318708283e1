//go:build linux

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pythonPage is the tutorial of the SDK for Python. Its program and its configuration are
// those that it shows, and the SDK is beside them, where Python looks first. It is run
// with Debian's interpreter, and left out where that has no msgpack.
func pythonPage() page {
	const path, python = "docs/hosts-python.md", "/usr/bin/python3"
	text, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		panic(err)
	}
	p := page{
		path: path, before: "export PATH=$HOME:/usr/bin:$PATH; serve hostsup run",
		files: map[string]string{"host.py": block(string(text), "python"), "config.hcl": block(string(text), "hcl")},
	}
	sources, err := filepath.Glob("../sdk/python/src/hostsup_host/*.py")
	if err != nil {
		panic(err)
	}
	for _, source := range sources {
		code, err := os.ReadFile(source)
		if err != nil {
			panic(err)
		}
		p.files["hostsup_host/"+filepath.Base(source)] = string(code)
	}
	if os.Getenv("HOSTSUP_REQUIRE_PEERS") != "1" && exec.Command(python, "-c", "import msgpack").Run() != nil {
		p.skip = map[string]string{}
		for _, c := range commandsOfBlocks(path, string(text)) {
			p.skip[c.text] = "needs Debian's python3-msgpack: sdk/python/check runs such a host"
		}
	}
	return p
}

// block returns the first block of a language of a page.
func block(text, lang string) string {
	_, text, _ = strings.Cut(text, "\n```"+lang+"\n")
	text, _, _ = strings.Cut(text, "```\n")
	return text
}
