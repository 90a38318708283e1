package manifest_test

import (
	"fmt"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/manifest"
)

func ExampleParse() {
	text := []byte(`{"publisher": "Acme", "name": "go", "version": "1.2.0", "engines": {"vscode": "^1.74.0"}, "main": "./out/main.js",
		"extensionPack": 7, "contributes": {"commands": [{"command": "go.test", "title": "%test%"}]}}`)
	messages, err := manifest.ParseMessages([]byte(`{"test": "Run the tests"}`), "package.nls.json")
	if err != nil {
		fmt.Println(err)
	}
	m, problems := manifest.Parse(text, manifest.Source{File: "go/package.json", Folder: "/ext/go", Origin: extensions.User, Product: "1.100.3"}, messages)
	fmt.Println(m.ID, m.Version, m.Events)
	fmt.Println(problems)
	// Output:
	// acme.go 1.2.0 [onCommand:go.test]
	// [go/package.json: extensionPack: wrong field: an array of strings expected, found a number]
}
