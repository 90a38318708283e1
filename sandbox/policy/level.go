package policy

import "slices"

// Levels returns all levels, strongest first.
func Levels() []Level { return []Level{Full, NoCgroup, Landlock, None} }

// Valid reports whether l is one of the levels.
func (l Level) Valid() bool { return slices.Contains(Levels(), l) }

// AtLeast reports whether l enforces everything that other enforces. An unknown
// level is weaker than None.
func (l Level) AtLeast(other Level) bool {
	rank := func(l Level) int {
		if i := slices.Index(Levels(), l); i >= 0 {
			return i
		}
		return len(Levels())
	}
	return rank(l) <= rank(other)
}

// DefaultLevel returns the weakest level that a policy without a level accepts:
// Full for root, NoCgroup for other users, who cannot create cgroups everywhere.
func DefaultLevel(root bool) Level {
	if root {
		return Full
	}
	return NoCgroup
}

// Weakest returns the weakest level that p accepts: its Level, or [DefaultLevel].
// A nil policy accepts None.
func (p *Policy) Weakest(root bool) Level {
	switch {
	case p == nil:
		return None
	case p.Level == "":
		return DefaultLevel(root)
	}
	return p.Level
}
