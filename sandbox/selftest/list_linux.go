//go:build !hostsup_posix

package selftest

import "slices"

// attempts are all tries to get out, by class.
func attempts() []*attempt {
	return slices.Concat(
		fileReads(), fileWrites(), fileDenied(), handedOver(),
		ownCode(), devices(), groups(), network(), others(),
		privileges(), calls(), terminals(), leaks(), exhaustion(), outliving(),
	)
}
