//go:build linux

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// thirdLook lets a shell see what a person has time to see before the third look at a tutorial's host.
var thirdLook = map[string]string{"hostsup wait greeter --state running #3": `await "running.*→ crashed.*SIGKILL" hostsup events`}

// goPage is the tutorial of a host in Go. Its program is compiled as it is shown.
func goPage() page {
	const path = "docs/hosts-go.md"
	text, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		panic(err)
	}
	return page{
		path: path, until: thirdLook, before: "serve hostsup run", files: map[string]string{"config.hcl": block(string(text), "hcl")},
		programs: map[string]string{"greeter": block(string(text), "go")},
	}
}

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
		path: path, until: thirdLook, before: "export PATH=$HOME:/usr/bin:$PATH; serve hostsup run",
		files: map[string]string{"host.py": block(string(text), "python"), "config.hcl": block(string(text), "hcl")},
	}
	p.copies("../sdk/python/src", "hostsup_host/*.py", "")
	if os.Getenv("HOSTSUP_REQUIRE_PEERS") != "1" && exec.Command(python, "-c", "import msgpack").Run() != nil {
		p.skip = map[string]string{}
		for _, c := range commandsOfBlocks(path, string(text)) {
			p.skip[c.text] = "needs Debian's python3-msgpack: sdk/python/check runs such a host"
		}
	}
	return p
}

// typescriptPage is the tutorial of the SDK for TypeScript. Its program and its
// configuration are those that it shows. It is left out where the SDK was not built, which
// ./test sdks does.
func typescriptPage() page {
	const path = "docs/hosts-typescript.md"
	text, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		panic(err)
	}
	p := page{
		path: path, until: thirdLook, before: "export PATH=$HOME:/usr/bin:$PATH; serve hostsup run",
		files: map[string]string{"host.mjs": block(string(text), "js"), "config.hcl": block(string(text), "hcl"), "package.json": "{}"},
	}
	// A copy, because users without a name may not read the repository.
	const sdk = "../.cache/sdk-typescript"
	for from, to := range map[string]string{"": "node_modules/@hostsup/host", "node_modules/@msgpack/msgpack": "node_modules/@msgpack/msgpack"} {
		for _, pattern := range []string{"package.json", "dist/esm/*.js", "dist.cjs/*.cjs", "dist.cjs/utils/*.cjs"} {
			p.copies(filepath.Join(sdk, from), pattern, to)
		}
	}
	if _, err := os.Stat(filepath.Join(sdk, "dist", "esm", "index.js")); err != nil && os.Getenv("HOSTSUP_REQUIRE_PEERS") != "1" {
		p.skip = map[string]string{}
		for _, c := range commandsOfBlocks(path, string(text)) {
			p.skip[c.text] = "needs what ./test sdks builds"
		}
	}
	return p
}

// copies puts the files of a folder that match a pattern into one of the page.
func (p page) copies(from, pattern, to string) {
	sources, err := filepath.Glob(filepath.Join(from, pattern))
	if err != nil {
		panic(err)
	}
	for _, source := range sources {
		code, err := os.ReadFile(source)
		if err != nil {
			panic(err)
		}
		name, err := filepath.Rel(from, source)
		if err != nil {
			panic(err)
		}
		p.files[filepath.Join(to, name)] = string(code)
	}
}

// block returns the first block of a language of a page.
func block(text, lang string) string {
	_, text, _ = strings.Cut(text, "\n```"+lang+"\n")
	text, _, _ = strings.Cut(text, "```\n")
	return text
}
