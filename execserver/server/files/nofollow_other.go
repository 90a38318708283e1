//go:build !unix

package files

// Nothing runs under rules here, and nothing without links.
const noFollow = 0
