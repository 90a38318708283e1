package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// LookPath finds a program. A file with a slash is a path relative to dir (the working
// folder of the future command; "" is the current one). Otherwise LookPath searches
// the folders of path, a PATH value; unlike a shell it never searches empty or
// relative folders. The result is absolute. Errors wrap fs.ErrNotExist or
// fs.ErrPermission.
func LookPath(file, dir, path string) (string, error) {
	if file == "" {
		return "", fmt.Errorf("the name of the program is empty: %w", fs.ErrNotExist)
	}
	if strings.ContainsRune(file, '/') || filepath.Base(file) != file {
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		abs, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		st, err := os.Stat(abs)
		if err != nil {
			var pe *fs.PathError
			if errors.As(err, &pe) {
				err = pe.Err
			}
			return abs, fmt.Errorf("%s: %w", abs, err)
		}
		return abs, runnable(abs, st)
	}
	var refused error
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue
		}
		p := filepath.Join(folder, file)
		st, err := os.Stat(p)
		if err != nil {
			continue // missing, or this user may not search the folder; shells also go on
		}
		if err = runnable(p, st); err == nil {
			return p, nil
		}
		if refused == nil && errors.Is(err, fs.ErrPermission) {
			refused = err
		}
	}
	if refused != nil {
		return "", refused
	}
	return "", &lookError{file, path}
}

// lookError means that no folder has the program.
type lookError struct{ file, path string }

func (e *lookError) Error() string {
	if e.path == "" {
		return e.file + ": not found, PATH is empty"
	}
	return e.file + ": not found in any folder of PATH"
}

func (e *lookError) Is(target error) bool { return target == fs.ErrNotExist }

func runnable(p string, st fs.FileInfo) error {
	if st.IsDir() {
		return fmt.Errorf("%s: is a folder: %w", p, fs.ErrPermission)
	}
	if err := mayRun(p, st); err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	return nil
}
