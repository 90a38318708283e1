package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/control"
)

// maxParams bounds the bytes read from standard input. The supervisor's own limit is
// about the same.
const maxParams = 64 << 20

func (a *app) callVerb() *cobra.Command {
	var timeout time.Duration
	var stream, idempotent bool
	var in instanceFlags
	cmd := &cobra.Command{
		Use:   "call HOST METHOD [JSON|-]",
		Short: "Call a method of a host and print the result as JSON",
		Long: `Call a method of a host and print the result as JSON on standard output.
The params are null, or the JSON argument, or what is read from standard input
for "-". Put "--" in front of a negative number.

Of a template, --key names the instance that is called, which is started if it
does not run; --set gives it a value for each variable of the template.`,
		Example: `  hostsup call math add '[1, 2]'
  hostsup call github --key ada --set token=env:GITHUB_TOKEN tools/list
  hostsup call math stream '{"n": 3}' --stream
  echo '{"text": "hi"}' | hostsup call math echo -`,
		Args:              args(2, 3, "HOST METHOD [JSON|-]"),
		ValidArgsFunction: a.completeHosts(1),
		RunE: func(cmd *cobra.Command, given []string) error {
			if timeout < 0 {
				return usagef("--timeout %v is negative", timeout)
			}
			q, err := a.request(given)
			if err != nil {
				return err
			}
			if q.Instance, err = in.instance(); err != nil {
				return err
			}
			q.Timeout, q.Idempotent = timeout, idempotent
			if stream {
				return a.callStream(cmd.Context(), q)
			}
			return a.call(cmd.Context(), q)
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&timeout, "timeout", 0, "how long to wait, such as 5s; with --stream, for the next item (default: requests.timeout of the host)")
	flags.BoolVar(&stream, "stream", false, "print each item of a streamed result on a line of its own")
	flags.BoolVar(&idempotent, "idempotent", false, "may be sent again, once, when the host crashes before it has answered")
	in.flags(cmd)
	a.jsonFlag(cmd, "print an error as JSON too")
	return cmd
}

func (a *app) notifyVerb() *cobra.Command {
	var in instanceFlags
	cmd := &cobra.Command{
		Use:               "notify HOST METHOD [JSON|-]",
		Short:             "Send a notification to a host",
		Args:              args(2, 3, "HOST METHOD [JSON|-]"),
		ValidArgsFunction: a.completeHosts(1),
		RunE: func(cmd *cobra.Command, given []string) error {
			q, err := a.request(given)
			if err != nil {
				return err
			}
			if q.Instance, err = in.instance(); err != nil {
				return err
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			return c.Notify(cmd.Context(), q)
		},
	}
	in.flags(cmd)
	a.jsonFlag(cmd, "print an error as JSON too")
	return cmd
}

func (a *app) call(ctx context.Context, q control.Request) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	result, err := c.Call(ctx, q)
	if err != nil {
		return err
	}
	a.out.line(string(result))
	return nil
}

func (a *app) callStream(ctx context.Context, q control.Request) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	for item, err := range c.Stream(ctx, q) {
		if err != nil {
			return err
		}
		if !a.out.line(string(item)) {
			break
		}
	}
	return nil
}

// request is HOST METHOD [JSON|-].
func (a *app) request(given []string) (control.Request, error) {
	q := control.Request{Host: given[0], Method: given[1]}
	if len(given) < 3 {
		return q, nil
	}
	text, from := []byte(given[2]), "the argument"
	if given[2] == "-" {
		from = "standard input"
		var err error
		if text, err = io.ReadAll(io.LimitReader(a.in, maxParams+1)); err != nil {
			return q, fmt.Errorf("read standard input: %w", err)
		}
		if len(text) > maxParams {
			return q, usagef("standard input has more than %d bytes", maxParams)
		}
	}
	if err := checkJSON(text, from); err != nil {
		return q, err
	}
	q.Params = text
	return q, nil
}

// checkJSON returns where text stops being one JSON value.
func checkJSON(text []byte, from string) error {
	var value json.RawMessage
	err := json.Unmarshal(text, &value)
	if err == nil {
		return nil
	}
	before := text // the text ends too early
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && !strings.HasPrefix(syntax.Error(), "unexpected end") {
		before = text[:max(0, min(int(syntax.Offset), len(text))-1)]
	}
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:]))) + 1
	hint := ""
	if first := strings.TrimSpace(string(text)); first != "" && strings.IndexFunc(first, func(r rune) bool { return !unicode.IsLetter(r) }) < 0 {
		hint = fmt.Sprintf(`; a string has quotes of its own, which the shell must leave: '"%.40s"'`, first)
	}
	return usagef("%s is not JSON: line %d, column %d: %v%s", from, line, column, err, hint)
}
