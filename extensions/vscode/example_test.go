package vscode_test

import (
	"fmt"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions/vscode"
)

func ExampleRoot() {
	root, ok := vscode.Root([]string{"node", "/opt/code-server/lib/vscode/out/bootstrap-fork.js", "--type=extensionHost"})
	fmt.Println(root, ok)
	// Output: /opt/code-server/lib/vscode true
}

func ExampleProtocol_Answer() {
	p := vscode.New(vscode.Options{Root: "/opt/code-server/lib/vscode"})
	fmt.Println(string(p.Answer("MainThreadWindow.$getInitialState").Result))
	fmt.Println(p.Answer("MainThreadDebugService.$startDebugging").Err)
	// Output:
	// {"isFocused":true,"isActive":true}
	// NotSupported: debug.startDebugging is not supported: there is no window
}

func ExampleProtocol_Explain() {
	p := vscode.New(vscode.Options{})
	meaning, final := p.Explain(codec.End{Signal: 6, Output: []string{"FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"}})
	fmt.Println(meaning, final)
	// Output: JavaScript heap out of memory false
}
