//go:build !linux

package files

// canPin: what was judged could be replaced before it is used.
const canPin = false
