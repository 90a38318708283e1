package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever is wrong elsewhere in a file, its control socket is found.
func TestSocket(t *testing.T) {
	const sup = "supervisor {\n  log { level = \"info\" }\n  socket = \"run/s.sock\" # here\n}\n"
	const found = "/etc/hostsup/run/s.sock"
	tests := []struct{ name, src, want, says string }{
		{"alone", sup, found, ""},
		{"on one line", `supervisor { socket = "/run/s" }`, "/run/s", ""},
		{"none", "supervisor {\n  log { }\n}\n", "", ""},
		{"no block", "host \"a\" {\n  socket = \"/run/x\"\n}\n", "", ""},
		{"null", "supervisor {\n  socket = null\n}\n", "", ""},
		{"in another block", "supervisor {\n  log {\n    socket = \"/run/x\"\n  }\n}\n", "", ""},
		{"a variable elsewhere is not set", "variable \"x\" {}\n" + sup + "host \"a\" {\n  command = [var.x, var.y, env(\"NOTHING\")]\n}\n", found, ""},
		{"a brace is missing before it", "host \"a\" {\n  command = [\"a\"]\n" + sup, found, ""},
		{"a brace is missing after it", sup + "host \"a\" {\n", found, ""},
		{"its own brace is missing", strings.TrimSuffix(sup, "}\n") + "host \"a\" { }\n", found, ""},
		{"a string is not closed", "host \"a\" {\n  command = [\"a\n}\n" + sup, found, ""},
		{"unknown names", "hots \"a\" { }\nx = 5\n" + sup, found, ""},
		{"the rest is noise", "}}} = \" {\n" + sup, found, ""},
		{"made of a variable", "variable \"x\" {}\nvariable \"dir\" { default = \"/srv\" }\nsupervisor {\n  socket = \"${var.dir}/s\"\n}\nhost {\n", "/srv/s", ""},
		{"made of what it needs alone", "variable \"x\" {}\nlocals {\n  dir = \"/srv\"\n  bad = var.x + 1\n}\nsupervisor {\n  socket = join(\"/\", [\n    local.dir,\n    \"s\",\n  ])\n}\n", "/srv/s", ""},
		{"made of one that is not set", "variable \"x\" {}\nsupervisor {\n  socket = var.x\n}\n", "", `variable "x"`},
		{"made of none", "supervisor {\n  socket = var.x\n}\n", "", "undeclared variable"},
		{"itself broken", "supervisor {\n  socket = \"/run\n}\n", "", "x.hcl:2:"},
		{"a number", "supervisor {\n  socket = 5\n}\n", "", "wrong type for socket"},
		{"empty", "supervisor {\n  socket =\n}\n", "", "x.hcl:2:"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.hcl")
			if err := os.WriteFile(file, []byte(tt.src), 0o600); err != nil {
				t.Fatal(err)
			}
			got, diags := Socket(file, testOptions())
			said := print(t, diags)
			if got != tt.want || diags.HasErrors() != (tt.says != "") || !strings.Contains(said, tt.says) {
				t.Errorf("%q, %s", got, said)
			}
		})
	}
}

// What Load takes as the socket of a valid file, Socket finds.
func TestSocketIsThatOfLoad(t *testing.T) {
	each(t, "testdata/good/*.hcl", func(t *testing.T, file string, src []byte) {
		f, diags := Parse(src, file, testOptions())
		if diags.HasErrors() {
			t.Fatal(print(t, diags))
		}
		if got, diags := Socket(file, testOptions()); got != f.Socket || diags.HasErrors() {
			t.Errorf("%q, not %q: %s", got, f.Socket, print(t, diags))
		}
	})
}
