package install_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/hostsup/hostsup/extensions/install"
)

// An unpacked extension is installed into a folder that hosts scan.
func ExampleInstaller() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	from := filepath.Join(dir, "words")
	text := `{"name": "words", "publisher": "acme", "version": "1.0.0", "engines": {"vscode": "^1.90.0"}}`
	if err := os.Mkdir(from, 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, "package.json"), []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}

	p, err := install.Open(context.Background(), from, install.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	in := &install.Installer{Dir: filepath.Join(dir, "extensions"), Products: []string{"1.100.3"}}
	r, err := in.Install(context.Background(), p)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.ID, r.Version)
	// Output: acme.words 1.0.0
}
