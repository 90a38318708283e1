//go:build !windows && !darwin

package files

// caseSensitive tells whether file systems of this system usually tell cases apart.
const caseSensitive = true
