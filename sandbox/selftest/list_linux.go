//go:build !hostsup_posix

package selftest

import "slices"

// attempts are all tries to get out, by class.
func attempts() []*attempt {
	return slices.Concat(
		fileReads(), fileWrites(), fileDenied(), handedOver(), sent(), replaced(), keptImage(),
		ownCode(), devices(), groups(), network(), others(),
		privileges(), []*attempt{mappedSetUID()}, calls(), terminals(), leaks(), exhaustion(), outliving(),
	)
}
