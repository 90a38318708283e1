//go:build unix && !linux && !darwin

package sys

func peerCred(int) (Cred, error) { return Cred{}, ErrUnsupported }
