//go:build !linux

package sys

import "io/fs"

// Placeholder reports false: this system has no placeholders.
func Placeholder(string, fs.FileInfo) bool { return false }
