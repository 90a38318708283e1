package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/intercept/secret/stores"
)

// At a terminal a secret must be stored only if the user agrees, and be in no output and no
// file but the store.
func TestInitAsks(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"HOSTSUP_SECRETS_IDENTITY", "CREDENTIALS_DIRECTORY", "XDG_CONFIG_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "autolaunch:")
	t.Setenv("HOME", dir)
	const list = `{
  "inputs": [{"type": "promptString", "id": "asked", "description": "The password", "password": true}],
  "servers": {"a": {"command": "true", "env": {
    "A_TOKEN": "first-value", "B_TOKEN": "second-value", "C_TOKEN": "third-value", "PASSWORD": "${input:asked}"
  }}}
}`
	if err := os.WriteFile("mcp.json", []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	other, tty := terminal(t, 80)
	if _, err := other.WriteString("y\nno\n\nfourth-value\n"); err != nil {
		t.Fatal(err)
	}
	var out, errout bytes.Buffer
	a := newApp(tty, &out, &errout)
	a.initStore = stores.Options{Backend: stores.File, File: filepath.Join(dir, "secrets.age")}
	if code := a.main(t.Context(), []string{"init", "--from", "mcp.json"}); code != exitDone {
		t.Fatalf("exit code %d: %s", code, errout.String())
	}
	for _, want := range []string{
		`A_TOKEN of a looks like a secret. Store it as secret "a.A_TOKEN"? [Y/n] `, "The password. Leave it empty to set it later.",
		"hostsup secret set a.B_TOKEN", "3 secrets are in file ",
	} {
		if !strings.Contains(errout.String(), want) {
			t.Errorf("no %q in\n%s", want, errout.String())
		}
	}
	text, err := os.ReadFile("config.hcl")
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"first-value", "second-value", "third-value", "fourth-value"} {
		if strings.Contains(out.String()+errout.String()+string(text), value) {
			t.Errorf("%s was written:\n%s%s%s", value, out.String(), errout.String(), text)
		}
	}
	store, err := openSecrets(a.initStore, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for name, want := range map[string]string{"a.A_TOKEN": "first-value", "a.B_TOKEN": "", "a.C_TOKEN": "third-value", "asked": "fourth-value"} {
		got, err := store.Get(t.Context(), name)
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}
