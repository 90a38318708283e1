package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sandbox/resolve"
)

// maxRounds bounds how often a command is run to refine its policy.
const maxRounds = 40

// sandboxRefine runs a command with a policy, then with what it was denied added,
// and so on. If a round has the result of the round before, what was added between
// the two is not needed.
func (a *app) sandboxRefine(ctx context.Context, c *confine, command []string, file string) error {
	if err := a.loadPolicy(c); err != nil {
		return a.confineError(err)
	}
	if err := reached(&c.policy); err != nil {
		return a.confineError(err)
	}
	if here := a.strayed(c); here != "" {
		c.policy = policy.Merge(c.policy, policy.Policy{Read: []string{here}})
		var err error
		if c.resolved, err = resolve.Policy(&c.policy, c.limits); err != nil {
			return a.confineError(err)
		}
	}
	var last *explained // with what it ran under in needed
	var lastSum string
	for round := 1; ; round++ {
		now, sum, err := a.refineRound(ctx, c, command, file != "")
		if ctx.Err() != nil {
			return a.confineError(ctx.Err())
		}
		if err != nil {
			if !c.grantStart(err) || round == maxRounds {
				return a.confineError(err)
			}
			fmt.Fprintf(a.errout, "hostsup: round %d: %s\n", round, show.Clean(err.Error()))
			if c.resolved, err = resolve.Policy(&c.policy, c.limits); err != nil {
				return a.confineError(err)
			}
			continue
		}
		more := now.needed
		now.needed, now.rounds, now.confined, now.command, now.limits = c.policy, round, true, command, c.limits
		fmt.Fprintf(a.errout, "hostsup: round %d: %s, %d things denied\n", round, now.ending(), len(now.denials))
		good := now.exit.Code == 0 && now.exit.Signal == 0
		if good && last != nil && sum == lastSum {
			last.rounds = round
			return a.writeExplained(last, file)
		}
		if same(more, c.policy) {
			if err := a.writeExplained(now, file); err != nil || good {
				return err
			}
			fmt.Fprintf(a.errout, "hostsup: it %s although it is denied nothing that a policy could grant\n", now.ending())
			return &printed{1}
		}
		if round == maxRounds {
			_ = a.writeExplained(now, file) // the failure matters more
			fmt.Fprintf(a.errout, "hostsup: it is denied more after %d rounds\n", round)
			return &printed{1}
		}
		if c.resolved, err = resolve.Policy(&more, c.limits); err != nil {
			return a.confineError(err)
		}
		c.policy, last, lastSum = more, nil, ""
		if good {
			last, lastSum = now, sum
		}
	}
}

// refineRound runs the command once, and returns the findings with a checksum of its
// standard output, which goes to standard output, or to standard error.
func (a *app) refineRound(ctx context.Context, c *confine, command []string, out bool) (*explained, string, error) {
	cmd, err := c.command(command)
	if err != nil {
		return nil, "", err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	to := a.errout
	if out {
		to = a.out
	}
	sum := make(chan hash.Hash, 1)
	go func() { // ends with the last process that holds w
		h := sha256.New()
		_, _ = io.Copy(io.MultiWriter(h, to), r) // a failure to show it does not matter
		sum <- h
	}()
	cmd.Files = []*os.File{nil, w, fileOf(a.errout)}
	found, err := explain(ctx, cmd)
	_ = w.Close()
	h := <-sum
	return found, fmt.Sprintf("%x", h.Sum(nil)), err
}

// grantStart adds to the policy what the command could not start without, and
// reports whether there was anything to add.
func (c *confine) grantStart(err error) bool {
	var start *sandbox.StartError
	var find *findError
	grant := ""
	switch {
	case errors.As(err, &find):
		grant = find.grant
	case errors.As(err, &start):
		grant = start.Grant
	}
	if grant == "" || slices.Contains(c.policy.Exec, grant) {
		return false
	}
	c.policy = policy.Merge(c.policy, policy.Policy{Exec: []string{grant}})
	return true
}

// same reports whether two policies grant the same.
func same(a, b policy.Policy) bool {
	removed, added := policy.Diff(a, policy.Limits{}, b, policy.Limits{})
	return len(removed)+len(added) == 0
}

// sandboxDiff prints the differences between two policies.
func (a *app) sandboxDiff(first, second string) error {
	var c [2]confine
	for i, name := range []string{first, second} {
		c[i].file = name
		if _, err := os.Stat(name); err != nil && !strings.ContainsAny(name, "./") { // else the name of a file that is not there
			c[i].file, c[i].profile = "", name
		}
		if err := a.readPolicy(&c[i]); err != nil {
			return a.confineError(err)
		}
	}
	removed, added := policy.Diff(c[0].policy, c[0].limits, c[1].policy, c[1].limits)
	if a.json {
		a.out.jsonDocument(map[string][]string{"removed": append([]string{}, removed...), "added": append([]string{}, added...)})
		return nil
	}
	var b strings.Builder
	for _, l := range removed {
		fmt.Fprintf(&b, "- %s\n", show.Clean(l))
	}
	for _, l := range added {
		fmt.Fprintf(&b, "+ %s\n", show.Clean(l))
	}
	_, err := io.WriteString(a.out, b.String())
	return err
}

// ending returns how the command ended: "exited with 3", "was killed by SIGKILL".
func (e *explained) ending() string {
	if e.exit.Signal != 0 {
		return "was " + show.Signal(e.exit.Signal)
	}
	return fmt.Sprintf("exited with %d", e.exit.Code)
}
