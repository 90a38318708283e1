//go:build !race

package grants

const raceEnabled = false
