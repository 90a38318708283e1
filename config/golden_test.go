package config

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"

	"github.com/hostsup/hostsup/codec"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// testEnv is the whole environment that a file under test sees.
var testEnv = map[string]string{
	"HOME":                 "/home/ada",
	"HOSTSUP_VAR_from_env": "from the environment",
	"HOSTSUP_VAR_envnum":   "twelve",
}

func testOptions() Options {
	return Options{
		LookupEnv: func(name string) (string, bool) { v, ok := testEnv[name]; return v, ok },
		Self:      "/opt/hostsup/hostsup",
		Dir:       "/etc/hostsup",
		Stat: func(path string) (fs.FileInfo, error) {
			if strings.Contains(path, "missing") {
				return nil, fs.ErrNotExist
			}
			if strings.HasSuffix(path, "/a-file") {
				return os.Stat("golden_test.go")
			}
			return nil, errors.New("not asked for")
		},
	}
}

func print(t testing.TB, diags hcl.Diagnostics) string {
	t.Helper()
	var b bytes.Buffer
	if err := Print(&b, diags, false, 0); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (run the test with -update when this is right):\n%s", path, diff)
	}
}

func each(t *testing.T, pattern string, f func(t *testing.T, name string, src []byte)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files for %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".hcl"), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			f(t, file, src)
		})
	}
}

// Each broken file must get exactly the diagnostics in the text beside it.
func TestBad(t *testing.T) {
	each(t, "testdata/bad/*.hcl", func(t *testing.T, file string, src []byte) {
		f, diags := Parse(src, filepath.Base(file), testOptions())
		if !diags.HasErrors() || f != nil {
			t.Fatalf("taken as valid: %+v", f)
		}
		checkDiagnostics(t, diags, src)
		golden(t, strings.TrimSuffix(file, ".hcl")+".txt", print(t, diags))
	})
}

// checkDiagnostics checks what must hold for every diagnostic.
func checkDiagnostics(t testing.TB, diags hcl.Diagnostics, src []byte) {
	t.Helper()
	seen, last := map[string]bool{}, -1
	for _, d := range diags {
		if d.Summary == "" || d.Detail == "" {
			t.Errorf("has too little text: %v", d)
		}
		if strings.Contains(d.Summary+d.Detail, "%!") {
			t.Errorf("badly formatted: %v", d)
		}
		text := d.Error()
		if seen[text] {
			t.Errorf("reported twice: %s", text)
		}
		seen[text] = true
		if d.Subject == nil {
			continue
		}
		if at := d.Subject.Start.Byte; at < last || at > len(src) {
			t.Errorf("out of order or outside of the file: byte %d after %d: %v", at, last, d)
		}
		last = d.Subject.Start.Byte
	}
}

// Each good file must give exactly the spec in the text beside it, with the warnings
// in front.
func TestGood(t *testing.T) {
	each(t, "testdata/good/*.hcl", func(t *testing.T, file string, src []byte) {
		opts := testOptions()
		if strings.Contains(string(src), `variable "from_flag"`) {
			opts.Vars = map[string]string{"from_flag": "from the flag", "names": `["x", "y"]`}
		}
		f, diags := Parse(src, "/etc/hostsup/"+filepath.Base(file), opts)
		if diags.HasErrors() {
			t.Fatalf("refused:\n%s", print(t, diags))
		}
		text := print(t, diags)
		if text != "" {
			text += "\n"
		}
		golden(t, strings.TrimSuffix(file, ".hcl")+".txt", text+dump(f))
	})
}

// dump writes all values that are not zero, one a line.
func dump(f *File) string {
	var b strings.Builder
	dumpValue(&b, "", reflect.ValueOf(*f))
	return b.String()
}

func dumpValue(b *strings.Builder, path string, v reflect.Value) {
	if v.IsZero() {
		return
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		fmt.Fprintf(b, "%s = %s\n", path, x)
		return
	case syscall.Signal:
		fmt.Fprintf(b, "%s = %d\n", path, int(x))
		return
	case codec.Protocol:
		fmt.Fprintf(b, "%s = protocol %s\n", path, x.Name())
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			dumpValue(b, path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice:
		if v.Len() == 0 {
			fmt.Fprintf(b, "%s = empty\n", path)
		}
		for i := range v.Len() {
			dumpElement(b, fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	case reflect.Map:
		if v.Len() == 0 {
			fmt.Fprintf(b, "%s = empty\n", path)
		}
		keys := v.MapKeys()
		sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
		for _, k := range keys {
			dumpElement(b, fmt.Sprintf("%s[%q]", path, k), v.MapIndex(k))
		}
	case reflect.Interface, reflect.Pointer:
		dumpElement(b, path, v.Elem())
	default:
		dumpElement(b, path, v)
	}
}

// dumpElement also writes zero values: an empty argument is an argument.
func dumpElement(b *strings.Builder, path string, v reflect.Value) {
	switch {
	case !v.IsValid() || v.Kind() == reflect.Interface && v.IsNil():
		fmt.Fprintf(b, "%s = nil\n", path)
	case v.Kind() == reflect.Interface:
		dumpElement(b, path, v.Elem())
	case v.Kind() == reflect.Pointer:
		dumpElement(b, path, v.Elem())
	case v.Kind() == reflect.String:
		fmt.Fprintf(b, "%s = %q\n", path, v.String())
	case v.Kind() == reflect.Struct && v.IsZero():
		fmt.Fprintf(b, "%s = zero\n", path)
	case v.Kind() == reflect.Struct, v.Kind() == reflect.Slice, v.Kind() == reflect.Map:
		dumpValue(b, path, v)
	case v.Type() == reflect.TypeFor[int]():
		fmt.Fprintf(b, "%s = %v\n", path, v)
	default:
		fmt.Fprintf(b, "%s = %v (%s)\n", path, v, v.Type())
	}
}
