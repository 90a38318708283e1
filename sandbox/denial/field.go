package denial

import (
	"strconv"
	"time"
)

// field names the policy's field that allows a kind; "" where none does.
func (k Kind) field() string {
	switch k {
	case Stat, Read:
		return "read"
	case Write:
		return "write"
	case Exec:
		return "exec"
	case Device:
		return "devices"
	}
	return ""
}

// complete fills in what follows from the rest.
func (d *Denial) complete(now time.Time) {
	if d.Count == 0 {
		d.Count = 1
	}
	if d.First.IsZero() {
		d.First = now
	}
	if d.Last.IsZero() {
		d.Last = now
	}
	if d.Field == "" {
		d.Field = d.Kind.field()
	}
	if d.Suggest == "" && d.Path != "" {
		switch d.Field {
		case "read", "write", "exec", "devices", "allow":
			d.Suggest = d.Field + " = [" + strconv.Quote(d.Path) + "]"
		}
	}
}
