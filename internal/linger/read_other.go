//go:build !unix

package linger

const canLook = false

func readNow(uintptr, []byte) int { return 0 }
