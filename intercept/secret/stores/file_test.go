package stores

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"
	keyring "github.com/zalando/go-keyring"

	"github.com/hostsup/hostsup/intercept/secret"
)

func fileStore(t *testing.T) (s *secret.Store, path string) {
	t.Helper()
	t.Setenv(secret.IdentityEnv, "")
	t.Setenv(CredentialsEnv, "")
	path = filepath.Join(t.TempDir(), "keys", "secrets.age")
	s = open(t, Options{Backend: File, File: path})
	t.Cleanup(s.Close)
	return s, path
}

func open(t *testing.T, o Options) *secret.Store {
	t.Helper()
	source, err := o.Open()
	if err != nil {
		t.Fatal(err)
	}
	return secret.Open(source, 0)
}

func set(t *testing.T, s *secret.Store, name, value string) {
	t.Helper()
	if err := s.Set(t.Context(), name, []byte(value)); err != nil {
		t.Fatal(err)
	}
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// What is set in one store is there in another, and nowhere in the file's bytes.
func TestFile(t *testing.T) {
	s, path := fileStore(t)
	if names, err := s.List(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("%q, %v", names, err)
	}
	if _, err := s.Get(t.Context(), "github"); !errors.Is(err, secret.ErrNotFound) {
		t.Error(err)
	}
	if err := s.Delete(t.Context(), "github"); !errors.Is(err, secret.ErrNotFound) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading has made something: %v", err)
	}
	values := map[string]string{"github": "ghp_16C7e42F292c6912E7710c83", "pem": "--- BEGIN\nzażółć\n--- END\n", "raw/x": "\xff\xfe\x01\x80"}
	for name, v := range values {
		set(t, s, name, v)
	}
	if runtime.GOOS != "windows" {
		if m := mode(t, path); m != 0o600 {
			t.Errorf("the file has mode %#o", m)
		}
		if m := mode(t, path+".identity"); m != 0o600 {
			t.Errorf("the identity has mode %#o", m)
		}
	}
	sealed, err := os.ReadFile(path)
	if err != nil || bytes.Contains(sealed, []byte("ghp_")) || bytes.Contains(sealed, []byte("github")) {
		t.Errorf("the file is not encrypted (%v)", err)
	}
	other := open(t, Options{Backend: File, File: path})
	defer other.Close()
	for name, v := range values {
		if got, err := other.Get(t.Context(), name); err != nil || string(got) != v {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	set(t, other, "github", "another value")
	if got, err := s.Fresh(t.Context(), "github"); err != nil || string(got) != "another value" {
		t.Errorf("%q, %v", got, err)
	}
	if err := s.Delete(t.Context(), "pem"); err != nil {
		t.Error(err)
	}
	if names, err := other.List(t.Context()); err != nil || !slices.Equal(names, []string{"github", "raw/x"}) {
		t.Errorf("%q, %v", names, err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) > 3 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// The identity says who may look.
func TestIdentity(t *testing.T) {
	s, path := fileStore(t)
	set(t, s, "github", "a value")
	id := path + ".identity"
	key, err := os.ReadFile(id)
	if err != nil {
		t.Fatal(err)
	}
	try := func(o Options, is error, says string) {
		t.Helper()
		o.Backend, o.File = File, path
		s := open(t, o)
		defer s.Close()
		v, err := s.Get(t.Context(), "github")
		switch {
		case is == nil && (err != nil || string(v) != "a value"):
			t.Errorf("%q, %v", v, err)
		case is != nil && (!errors.Is(err, is) || !strings.Contains(err.Error(), says)):
			t.Errorf("%v, want %v with %q", err, is, says)
		case err != nil && strings.Contains(err.Error(), "AGE-SECRET"):
			t.Errorf("the error shows a key: %v", err)
		}
	}
	write := func(path string, content []byte, mode os.FileMode) {
		t.Helper()
		_ = os.Remove(path) // it may be one that cannot be written to
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, mode), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	moved := filepath.Join(dir, "key")
	write(moved, key, 0o600)
	try(Options{Identity: moved}, nil, "")
	if runtime.GOOS != "windows" {
		for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o620} {
			write(moved, key, mode)
			try(Options{Identity: moved}, secret.ErrExposed, "expected 0600")
		}
	}
	write(moved, []byte("AGE-SECRET-KEY-1NONSENSE\n"), 0o600)
	try(Options{Identity: moved}, secret.ErrIdentity, moved)
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	write(moved, []byte(other.String()+"\n"), 0o600)
	try(Options{Identity: moved}, secret.ErrUndecipher, moved)
	try(Options{Identity: filepath.Join(dir, "none")}, secret.ErrNoIdentity, "there is no")

	// By the environment: a path, and systemd's folder, whose files show the
	// mask of an access list as the group's rights.
	write(moved, key, 0o600)
	t.Setenv(secret.IdentityEnv, moved)
	if err := os.Remove(id); err != nil {
		t.Fatal(err)
	}
	try(Options{}, nil, "")
	t.Setenv(secret.IdentityEnv, "")
	try(Options{}, secret.ErrNoIdentity, id)
	credentials := filepath.Join(dir, "credentials")
	write(filepath.Join(credentials, CredentialName), key, 0o440)
	t.Setenv(CredentialsEnv, credentials)
	try(Options{}, nil, "")
	if runtime.GOOS != "windows" {
		write(filepath.Join(credentials, CredentialName), key, 0o444)
		try(Options{}, secret.ErrExposed, "0444")
	}

	// An identity that is gone is not made anew beside a file it cannot open.
	t.Setenv(CredentialsEnv, "")
	if err := s.Set(t.Context(), "github", []byte("new value")); !errors.Is(err, secret.ErrNoIdentity) {
		t.Error(err)
	}
	if _, err := os.Stat(id); !errors.Is(err, os.ErrNotExist) {
		t.Error("an identity was made")
	}
}

// A file that is torn or is something else is said to be.
func TestDamaged(t *testing.T) {
	s, path := fileStore(t)
	set(t, s, "github", "a value")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range [][]byte{nil, []byte("hello"), whole[:len(whole)-1], whole[:40], append(bytes.Clone(whole), 'x')} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		o := open(t, Options{Backend: File, File: path})
		if v, err := o.Get(t.Context(), "github"); !errors.Is(err, secret.ErrDamaged) && !errors.Is(err, secret.ErrUndecipher) {
			t.Errorf("%d bytes: %q, %v", len(content), v, err)
		}
		if err := o.Set(t.Context(), "x", []byte("value")); err == nil {
			t.Errorf("%d bytes: written over", len(content))
		}
		o.Close()
	}
}

// A file that could not be read again is not written.
func TestFull(t *testing.T) {
	t.Parallel()
	f := &fileSource{path: filepath.Join(t.TempDir(), "secrets.age")}
	f.identity = f.path + ".identity"
	if err := f.Set("github", []byte("value")); err != nil {
		t.Fatal(err)
	}
	err := f.change(func(all map[string][]byte) error {
		for i := range maxFile / secret.MaxValue {
			all[fmt.Sprint("n", i)] = bytes.Repeat([]byte{'x'}, secret.MaxValue)
		}
		return nil
	})
	if !errors.Is(err, secret.ErrFull) {
		t.Error(err)
	}
	if names, err := f.List(); err != nil || !slices.Equal(names, []string{"github"}) {
		t.Errorf("%q, %v", names, err)
	}
}

func TestFormat(t *testing.T) {
	for _, text := range []string{
		"", "x", header + "a", header + "a dmFsdWU=", header + "a\n", header + "no way dmFsdWU=\n", header + "a dmFsdWU\n", header + "a !\n",
		header + "a dmFsdWU=\na dmFsdWU=\n", header + "a MQ==\n", header + "\n",
	} {
		if all, err := decode([]byte(text)); !errors.Is(err, secret.ErrDamaged) {
			t.Errorf("%q: %v, %v", text, all, err)
		}
	}
	all, err := decode(encode(map[string][]byte{"b": []byte("value"), "a": []byte("\n\xff\r x")}))
	if err != nil || len(all) != 2 || string(all["a"]) != "\n\xff\r x" {
		t.Errorf("%q, %v", all, err)
	}
}

// Two at once write one after the other.
func TestTogether(t *testing.T) {
	s, path := fileStore(t)
	set(t, s, "first", "value")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			o := open(t, Options{Backend: File, File: path})
			defer o.Close()
			if err := o.Set(t.Context(), fmt.Sprintf("n%d", i), []byte("value")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if names, err := s.List(t.Context()); err != nil || len(names) != 9 {
		t.Errorf("%q, %v", names, err)
	}
}

// The keyring is taken where there is one, the file where there is none.
func TestKeyring(t *testing.T) {
	t.Setenv(secret.IdentityEnv, "")
	t.Setenv(CredentialsEnv, "")
	keyring.MockInit()
	mocked = true
	defer func() { mocked = false }()
	path := filepath.Join(t.TempDir(), "secrets.age")
	s := open(t, Options{File: path, Service: "test"})
	defer s.Close()
	set(t, s, "github", "from the keyring")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("there is a file")
	}
	if v, err := keyring.Get("test", "github"); err != nil || v != "from the keyring" {
		t.Errorf("%q, %v", v, err)
	}
	if err := keyring.Set("test", "by others", "x"); err != nil {
		t.Fatal(err)
	}
	if err := keyring.Set("test", "foreign", "from elsewhere"); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Get(t.Context(), "foreign"); err != nil || string(v) != "from elsewhere" {
		t.Errorf("%q, %v", v, err)
	}

	// What was put into the file when there was no keyring is still found.
	f := open(t, Options{Backend: File, File: path})
	defer f.Close()
	set(t, f, "old", "from the file")
	set(t, f, "github", "older")
	for name, value := range map[string]string{"old": "from the file", "github": "from the keyring"} {
		if v, err := s.Fresh(t.Context(), name); err != nil || string(v) != value {
			t.Errorf("%s: %q, %v", name, v, err)
		}
	}
	if names, err := s.List(t.Context()); err != nil || !slices.Equal(names, []string{"github", "old"}) {
		t.Errorf("%q, %v", names, err)
	}
	for _, name := range []string{"old", "github"} {
		if err := s.Delete(t.Context(), name); err != nil {
			t.Error(err)
		}
		if err := s.Delete(t.Context(), name); !errors.Is(err, secret.ErrNotFound) {
			t.Error(err)
		}
	}
	if names, err := s.List(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("%q, %v", names, err)
	}

	for _, test := range []struct{ err, is error }{
		{errors.New("failed to unlock correct collection '/org/freedesktop/secrets/collection/login'"), secret.ErrLocked},
		{errors.New("The name org.freedesktop.secrets was not provided by any .service files"), secret.ErrNoKeyring},
		{keyring.ErrUnsupportedPlatform, secret.ErrNoKeyring},
		{keyring.ErrSetDataTooBig, secret.ErrValue},
	} {
		keyring.MockInitWithError(test.err)
		k := open(t, Options{Backend: Keyring})
		if _, err := k.Get(t.Context(), "github"); !errors.Is(err, test.is) {
			t.Errorf("%v: %v, want %v", test.err, err, test.is)
		}
		k.Close()
	}
	keyring.MockInitWithError(errors.New("dbus: couldn't determine address of session bus"))
	set(t, f, "github", "in the file")
	if v, err := s.Fresh(t.Context(), "github"); err != nil || string(v) != "in the file" {
		t.Errorf("%q, %v", v, err)
	}
}

// Without a session bus none is started to look for a keyring.
func TestNoBus(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("the keyring is on no bus here")
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "autolaunch:")
	s := open(t, Options{Backend: Keyring})
	defer s.Close()
	if _, err := s.Get(t.Context(), "github"); !errors.Is(err, secret.ErrNoKeyring) {
		t.Error(err)
	}
}
