//go:build !race && amd64

package sys

func forkShadow(uintptr) {}
