package record

import (
	"strings"
	"testing"
)

func TestLastWords(t *testing.T) {
	for _, tc := range []struct{ name, printed, want string }{
		{"nothing", "", ""},
		{"blank lines", "\n \n\t\n", ""},
		{"one line", "Use '--stdio'\n", "Use '--stdio'"},
		{"the last of several", "starting\nno such file: x\n\n", "no such file: x"},
		{"python", "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\n    import y\nModuleNotFoundError: No module named 'y'\n", "ModuleNotFoundError: No module named 'y'"},
		{"node", "/srv/x.js:1\nthrow new Error('boom')\n^\n\nError: boom\n    at Object.<anonymous> (/srv/x.js:1:7)\n    at node:internal/main/run_main_module:36:49\n\nNode.js v24.1.0\n", "Error: boom"},
		{"node without a module", "node:internal/modules/cjs/loader:1404\n  throw err;\n  ^\n\nError: Cannot find module 'y'\nRequire stack:\n- /srv/x.js\n    at Module._load (node:internal/x:1:1) {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/srv/x.js' ]\n}\n\nNode.js v24.1.0\n", "Error: Cannot find module 'y'"},
		{"node with another text", "not an err\n    at x (y:1:1)\n", "not an err"},
		{"go", "log line\npanic: boom [recovered]\n\ngoroutine 1 [running]:\nmain.(*T).run(0xc000012, {0x1, 0x2})\n\t/srv/x.go:3 +0x2c\nmain.main()\n\t/srv/x.go:9 +0x1\nexit status 2\n", "panic: boom [recovered]"},
		{"colours", "\x1b[31mError:\x1b[0m no port\n", "Error: no port"},
		{"control characters", "a\x07b\x1b]0;title\x07c\td\u202e\xff", `a\ab\x1b]0;title\ac d\u202e\xff`},
		{"a long line", strings.Repeat("ä", 300), strings.Repeat("ä", 100) + "…"},
	} {
		if got := LastWords(strings.Split(tc.printed, "\n")); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func FuzzLastWords(f *testing.F) {
	f.Add("    at x\nError: y\x00\xff")
	f.Fuzz(func(t *testing.T, printed string) {
		got := LastWords(strings.Split(printed, "\n"))
		if len(got) > maxLastWords+len("…") || strings.ContainsAny(got, "\n\r\x1b\x00") {
			t.Errorf("%q", got)
		}
	})
}
