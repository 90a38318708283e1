package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/initial"
	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/intercept/secret"
)

// guarded takes secrets out of hosts, and reports hosts for which that is impossible.
func (a *app) guarded(m initial.Machine, hosts []initial.Host, isTaken func(name, value string) bool) ([]initial.Host, []initial.Secret, error) {
	out, secrets, left := m.Guard(hosts, isTaken)
	a.leftOut(left)
	if len(out) == 0 {
		return nil, nil, errors.New("nothing of it can be supervised without a secret in the file")
	}
	return out, secrets, nil
}

// storeSecrets stores the values of secrets where the user agrees, and tells how to
// store the others. Names that are in use for other values are replaced. The store is
// opened only if something may be stored.
func (a *app) storeSecrets(ctx context.Context, yes bool, m initial.Machine, found, hosts []initial.Host, secrets []initial.Secret) ([]initial.Host, error) {
	asked := a.isAsked()
	if len(secrets) == 0 || !yes && !asked {
		a.tellSecrets(secrets, nil)
		return hosts, nil
	}
	store, err := openSecrets(a.initStore, 0)
	var names []string
	if err == nil {
		defer store.Close()
		names, err = store.List(ctx)
	}
	switch {
	case err != nil && yes:
		return nil, fmt.Errorf("%w; nothing was written", err)
	case err != nil: // they can be set later
		fmt.Fprintf(a.errout, "no secret is stored: %s\n", show.Clean(err.Error()))
		a.tellSecrets(secrets, nil)
		return hosts, nil
	}
	has := map[string]bool{}
	for _, name := range names {
		has[name] = true
	}
	isTaken := func(name, value string) bool {
		if !has[name] {
			return false
		}
		is, err := store.Get(ctx, name)
		defer secret.Wipe(is)
		return err != nil || string(is) != value
	}
	out, secrets, _ := m.Guard(found, isTaken) // the same hosts as before
	stored := map[string]bool{}
	lines := bufio.NewReaderSize(a.in, 256)
	for _, s := range secrets {
		value := []byte(s.Value)
		switch {
		case has[s.Name]:
			stored[s.Name] = true // with this value, or one that the user has set
			continue
		case s.Value == "" && !asked:
			continue
		case s.Value == "":
			fmt.Fprintf(a.errout, "%s. Leave it empty to set it later.\n", show.Clean(s.Where))
			if value, err = a.secretValue(s.Name); err != nil {
				return nil, err
			}
		case !yes && !a.agrees(lines, s):
			continue
		}
		if len(bytes.TrimSpace(value)) == 0 {
			continue
		}
		err := store.Set(ctx, s.Name, value)
		secret.Wipe(value)
		if err != nil {
			return nil, fmt.Errorf("%w; nothing was written", err)
		}
		stored[s.Name] = true
	}
	a.tellSecrets(secrets, stored)
	if len(stored) > 0 {
		fmt.Fprintf(a.errout, "%d %s in %s\n", len(stored), show.Plural(len(stored), "secret is", "secrets are"), show.Clean(store.Where()))
	}
	return out, nil
}

// isAsked reports whether somebody can be asked.
func (a *app) isAsked() bool {
	f, ok := a.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// agrees asks whether a value may be stored. The value is not shown.
func (a *app) agrees(lines *bufio.Reader, s initial.Secret) bool {
	fmt.Fprintf(a.errout, "%s looks like a secret. Store it as secret %q? [Y/n] ", show.Clean(s.Where), s.Name)
	line, err := lines.ReadString('\n')
	if err != nil {
		fmt.Fprintln(a.errout)
		return false
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "", "y", "yes":
		return true
	}
	return false
}

// tellSecrets says what is to be stored by hand.
func (a *app) tellSecrets(secrets []initial.Secret, stored map[string]bool) {
	for _, s := range secrets {
		if !stored[s.Name] {
			fmt.Fprintf(a.errout, "%s is secret(%q) in the file, which is not set: hostsup secret set %s\n", show.Clean(s.Where), s.Name, s.Name)
		}
	}
}
