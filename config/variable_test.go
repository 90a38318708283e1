package config

import (
	"strings"
	"testing"
)

func TestVariables(t *testing.T) {
	const decl = "variable \"v\" {\n%}\nhost \"web\" {\n  command = [\"web\", jsonencode(var.v)]\n}\n"
	for _, c := range []struct {
		name, body, set, env string
		want                 string // the value as JSON, or
		wrong                string // part of the diagnostic
	}{
		{name: "default", body: "default = 1", want: `1`},
		{name: "flag", body: "", set: "x", want: `"x"`},
		{name: "environment", body: "", env: "x", want: `"x"`},
		{name: "flag before environment", body: "", set: "a", env: "b", want: `"a"`},
		{name: "environment before default", body: "default = \"d\"", env: "x", want: `"x"`},
		{name: "empty text", body: "default = \"d\"", env: "-", want: `""`},
		{name: "text like code", body: "", set: `"${1}"`, want: `"\"${1}\""`},
		{name: "number by type", body: "type = number", set: "5", want: `5`},
		{name: "number by default", body: "default = 1", set: "5", want: `5`},
		{name: "no number", body: "type = number", set: "five", wrong: `--var v="five" cannot be used: number is needed`},
		{name: "no number by default", body: "default = 1", env: "five", wrong: `HOSTSUP_VAR_v="five" cannot be used: number is needed`},
		{name: "huge number", body: "type = number", set: "1e99999999", wrong: "the number is out of range"},
		{name: "bool", body: "type = bool", set: "true", want: `true`},
		{name: "list", body: "type = list(string)", set: `["a", "b"]`, want: `["a","b"]`},
		{name: "list by default", body: "default = [1, 2]", set: `["a"]`, want: `["a"]`},
		{name: "map", body: "type = map(number)", set: `{ a = 1 }`, want: `{"a":1}`},
		{name: "object", body: "type = object({ a = number })", set: `{ a = "1" }`, want: `{"a":1}`},
		{name: "list from text", body: "type = list(string)", set: `a,b`, wrong: "not an expression"},
		{name: "list of others", body: "type = list(number)", set: `["a"]`, wrong: "list(number) is needed: a number is required"},
		{name: "unknown in list", body: "type = list(string)", set: `[b]`, wrong: "unknown variable"},
		{name: "deep list", body: "type = any\ndefault = []", set: strings.Repeat("[", 300), wrong: "nested too deep"},
		{name: "function", body: "type = list(string)", set: `[upper("a"), self]`, want: `["A","/opt/hostsup/hostsup"]`},
		{name: "null", body: "default = null", want: `null`},
		{name: "default is converted", body: "type = string\ndefault = 5", want: `"5"`},
		{name: "description", body: "default = 1\ndescription = \"x\"", want: `1`},
		{name: "description of another type", body: "default = 1\ndescription = [1]", wrong: "wrong type for description"},
		{name: "validation", body: "default = 1\nvalidation {\n}", wrong: "unsupported block type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := testOptions()
			if c.set != "" {
				opts.Vars = map[string]string{"v": c.set}
			}
			opts.LookupEnv = func(name string) (string, bool) {
				return strings.TrimPrefix(c.env, "-"), name == "HOSTSUP_VAR_v" && c.env != ""
			}
			f, diags := Parse([]byte(strings.Replace(decl, "%", c.body+"\n", 1)), "x.hcl", opts)
			if c.wrong != "" {
				if got := print(t, diags); f != nil || len(diags) != 1 || !strings.Contains(got, c.wrong) {
					t.Errorf("got:\n%s\nwant: %s", got, c.wrong)
				}
				return
			}
			if diags.HasErrors() {
				t.Fatal(print(t, diags))
			}
			if got := f.Spec.Groups[0].Hosts[0].Command[1]; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// An undeclared variable on the command line is a mistake; one in the environment may be
// for another file.
func TestUndeclaredValue(t *testing.T) {
	opts := testOptions()
	opts.Vars = map[string]string{"prot": "1"}
	src := []byte("variable \"port\" {\n  default = 1\n}\n" + valid)
	f, diags := Parse(src, "x.hcl", opts)
	want := "error: undeclared variable\n  The file declares no variable \"prot\", so --var prot=… has no effect. Did you mean \"port\"?\n"
	if got := print(t, diags); f != nil || got != want {
		t.Errorf("got:\n%s", got)
	}
	opts = testOptions()
	opts.LookupEnv = func(name string) (string, bool) { return "x", true }
	if _, diags := Parse([]byte(valid), "x.hcl", opts); diags.HasErrors() {
		t.Error(diags)
	}
}

func TestParseVars(t *testing.T) {
	got, err := ParseVars([]string{"a=1", "b=x=y", "c=", "a=2"})
	if err != nil || len(got) != 3 || got["a"] != "2" || got["b"] != "x=y" || got["c"] != "" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"a", "=1", "1a=2", ""} {
		if _, err := ParseVars([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestFunctions(t *testing.T) {
	for expr, want := range map[string]string{
		`tostring(12)`:                            `"12"`,
		`tonumber("12")`:                          `12`,
		`tobool("true")`:                          `true`,
		`tolist(toset(["b", "a", "b"]))`:          `["a","b"]`,
		`tomap({ a = 1 })`:                        `{"a":1}`,
		`tostring(null)`:                          `null`,
		`length("héllo")`:                         `5`,
		`length([1, 2])`:                          `2`,
		`length({ a = 1 })`:                       `1`,
		`startswith("abc", "ab")`:                 `true`,
		`endswith("abc", "ab")`:                   `false`,
		`can(regex("^a", "b"))`:                   `false`,
		`env("NOT_SET", "default")`:               `"default"`,
		`env("HOME", "default")`:                  `"/home/ada"`,
		`merge({ a = 1 }, { b = 2 })`:             `{"a":1,"b":2}`,
		`join("-", reverse(split(",", "a,b")))`:   `"b-a"`,
		`[for i, x in ["a", "b"] : "${i}${x}"]`:   `["0a","1b"]`,
		`replace("a-b", "-", "+")`:                `"a+b"`,
		`flatten([[1], [2, [3]]])`:                `[1,2,3]`,
		`lookup({ a = 1 }, "b", 2)`:               `2`,
		`format("%s-%03d", "x", 7)`:               `"x-007"`,
		`max(1, 3, 2) + min(4, 5) + abs(-1)`:      `8`,
		`coalesce(null, "a")`:                     `"a"`,
		`contains(["a"], "a") ? "yes" : "no"`:     `"yes"`,
		`trimspace(" a ") == "a" && !false`:       `true`,
		`substr("hello", 1, 3)`:                   `"ell"`,
		`zipmap(["a"], [1])["a"]`:                 `1`,
		`setunion(["a"], ["b"])`:                  `["a","b"]`,
		`element(["a", "b"], 3)`:                  `"b"`,
		`title(lower("HELLO")) == upper("hello")`: `false`,
	} {
		f, diags := Parse([]byte("host \"web\" {\n  command = [\"web\", jsonencode("+expr+")]\n}\n"), "x.hcl", testOptions())
		if diags.HasErrors() {
			t.Errorf("%s:\n%s", expr, print(t, diags))
			continue
		}
		if got := f.Spec.Groups[0].Hosts[0].Command[1]; got != want {
			t.Errorf("%s = %s, want %s", expr, got, want)
		}
	}
	for expr, want := range map[string]string{
		`tonumber("x")`:        "a string cannot be made into a number",
		`tolist("x")`:          "a string cannot be made into a list",
		`length(5)`:            "a string, list, set or map is needed",
		`env("A", "b", "c")`:   "env takes a name and at most one default",
		`env(null)`:            "argument must not be null",
		`file("/etc/passwd")`:  "no function named",
		`1e300 * 1e300 * null`: "operation failed",
		`(1/0) - (1/0)`:        "",
	} {
		_, diags := Parse([]byte("host \"web\" {\n  command = [\"web\", jsonencode("+expr+")]\n}\n"), "x.hcl", testOptions())
		if got := print(t, diags); !diags.HasErrors() || !strings.Contains(got, want) {
			t.Errorf("%s:\n%s\nwant: %s", expr, got, want)
		}
	}
}
