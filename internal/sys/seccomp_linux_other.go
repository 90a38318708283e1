//go:build linux && !amd64 && !arm64

package sys

// No filter of ours passes anything here.
const (
	filterArch    = 0
	filterForeign = 0
)
