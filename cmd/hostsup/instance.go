package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/control"
)

// instanceFlags name an instance of a template.
type instanceFlags struct {
	key  string
	sets []string
}

func (f *instanceFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.key, "key", "", "the instance of a template for `KEY`")
	cmd.Flags().StringArrayVar(&f.sets, "set", nil, "give it a variable of the template: `NAME=SOURCE`, where SOURCE is env:VARIABLE or file:PATH; may be repeated")
}

func (f *instanceFlags) given() bool { return f.key != "" || len(f.sets) > 0 }

// maxValue bounds the bytes of a file with a value.
const maxValue = 64 << 10

// instance reads the values. None of them stands in an argument, which all users of the
// machine can see.
func (f *instanceFlags) instance() (i control.Instance, err error) {
	if f.key == "" && len(f.sets) > 0 {
		return i, usagef("--set needs --key: a value belongs to the instance of a key")
	}
	i.Key = f.key
	for _, set := range f.sets {
		name, source, _ := strings.Cut(set, "=")
		kind, where, _ := strings.Cut(source, ":")
		var value string
		switch {
		case name == "" || where == "" || kind != "env" && kind != "file":
			return i, usagef("--set %s=…: write NAME=env:VARIABLE or NAME=file:PATH; all users of the machine could see a value that stands here", name)
		case kind == "env":
			var set bool
			if value, set = os.LookupEnv(where); !set {
				return i, usagef("--set %s: the environment has no variable %q", name, where)
			}
		default:
			if value, err = valueIn(where); err != nil {
				return i, fmt.Errorf("read the value of %s: %w", name, err)
			}
		}
		if _, twice := i.Vars[name]; twice {
			return i, usagef("--set %s is given twice", name)
		}
		if i.Vars == nil {
			i.Vars = map[string]string{}
		}
		i.Vars[name] = value
	}
	return i, nil
}

// valueIn returns the content of a file without the end of its last line.
func valueIn(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxValue+1))
	if err == nil && len(text) > maxValue {
		err = fmt.Errorf("%s has more than %d bytes", path, maxValue)
	}
	return strings.TrimRight(string(text), "\r\n"), err
}
