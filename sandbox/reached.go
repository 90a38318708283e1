package sandbox

import (
	"fmt"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// Reached returns which of the limits l the process has reached, such as "out of memory
// (limit 512 MiB, peak 512 MiB)" or "limit of tasks reached: 64", and "" if none.
func (e *Exit) Reached(l policy.Limits) string {
	var bound string
	switch {
	case e.OutOfMemory:
		bound = "limit " + showBytes(l.Memory)
		if e.MemoryPeak > 0 {
			bound += ", peak " + showBytes(e.MemoryPeak)
		}
		return fmt.Sprintf("out of memory (%s)", bound)
	case e.Limit == "":
		return ""
	case e.Limit == "memory":
		bound = showBytes(l.Memory)
	case e.Limit == "tasks":
		bound = fmt.Sprint(l.Tasks)
	case e.Limit == "files":
		bound = fmt.Sprint(l.Files)
	case e.Limit == "file_size":
		bound = showBytes(l.FileSize)
	default:
		return fmt.Sprintf("limit of %s reached", e.Limit)
	}
	return fmt.Sprintf("limit of %s reached: %s", e.Limit, bound)
}

// showBytes returns a size for a person: "512 MiB", "1.5 GiB".
func showBytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v /= 1024
		i++
	}
	return fmt.Sprintf("%.4g %s", v, units[i])
}
