//go:build linux

package integration

import (
	"os"
	"path/filepath"
	"strings"
)

// typescriptPage is the tutorial of the SDK for TypeScript. Its program and its
// configuration are those that it shows. It is left out where the SDK was not built, which
// ./test sdks does.
func typescriptPage() page {
	const path = "docs/hosts-typescript.md"
	text, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		panic(err)
	}
	program, configuration := firstBlock(string(text), "js"), firstBlock(string(text), "hcl")
	sdk, err := filepath.Abs("../.cache/sdk-typescript")
	if err != nil {
		panic(err)
	}
	p := page{
		path: path, config: configuration, files: map[string]string{"host.mjs": program},
		before: "mkdir -p node_modules/@hostsup && ln -s " + sdk + " node_modules/@hostsup/host && serve hostsup run",
	}
	if _, err := os.Stat(filepath.Join(sdk, "dist", "esm", "index.js")); err != nil && os.Getenv("HOSTSUP_REQUIRE_PEERS") != "1" {
		p.skip = map[string]string{}
		for _, c := range commandsOfBlocks(path, string(text)) {
			p.skip[c.text] = "needs what ./test sdks builds"
		}
	}
	return p
}

// firstBlock returns the first block of a language of a page.
func firstBlock(text, lang string) string {
	_, text, _ = strings.Cut(text, "\n```"+lang+"\n")
	text, _, _ = strings.Cut(text, "```\n")
	return text
}
