package secret_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hostsup/hostsup/intercept/secret"
	"github.com/hostsup/hostsup/intercept/secret/stores"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "secret-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	source, err := stores.Options{
		Backend: stores.File, File: filepath.Join(dir, "secrets.age"), Identity: filepath.Join(dir, "identity"),
	}.Open()
	if err != nil {
		fmt.Println(err)
		return
	}
	store := secret.Open(source, time.Minute)
	defer store.Close()
	ctx := context.Background()
	if err := store.Set(ctx, "github", []byte("ghp_example")); err != nil {
		fmt.Println(err)
		return
	}
	value, err := store.Get(ctx, "github")
	fmt.Println(len(value), err)
	secret.Wipe(value)
	_, err = store.Get(ctx, "no way")
	fmt.Println(err)
	// Output:
	// 11 <nil>
	// read secret "no way": not a name of a secret: "no way"; expected a letter or digit, then letters, digits, '.', '_', '-', '/' or ':', at most 128 in all
}

func ExampleRedactor() {
	r := secret.NewRedactor(time.Minute)
	defer r.Close()
	release := r.Hold("github", []byte("ghp_example"))
	defer release()
	fmt.Println(r.String("Authorization: Bearer ghp_example"))
	fmt.Println(r.String("Authorization: Basic bWU6Z2hwX2V4YW1wbGU=")) // me:ghp_example
	// Output:
	// Authorization: Bearer [redacted: github]
	// Authorization: Basic bWU6[redacted: github]U=
}
