package supervisor

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// Feature is something that a host has besides what its HostSpec names, and that programs
// without it do not link: checks of its health (package intercept/health), for example. A
// Feature is a plain value. Two of the same type are equal if they are deeply equal, as
// they are written: defaults are not filled in for the comparison.
type Feature interface {
	// Setting returns the name of the feature in a configuration, such as "healthy". A
	// host has at most one feature of each name.
	Setting() string
	// Validate returns what is wrong with the feature for a host that speaks p, without
	// touching the system. p is nil for a host without a protocol.
	Validate(p codec.Protocol) error
	// Interceptor returns what does the work. It is called when the host is made, and
	// again for a host with another configuration.
	Interceptor(host *actors.Ref) *actors.Interceptor
}

// FeaturesOf returns the features of a host, of [Tree.Groups] for example.
func FeaturesOf(host actors.HostSpec) []Feature {
	if r, ok := host.Origin.(*rest); ok {
		return r.Features
	}
	return nil
}

// Gate is a [Feature] that finds out when a host without a protocol is running: the host
// is starting until [actors.Ref.Healthy] is called.
type Gate interface {
	Feature
	// Gate does nothing.
	Gate()
}

// Live is a [Feature] that can change while the host runs: a change of nothing else ends no
// process.
type Live interface {
	Feature
	// Change puts this value in the place of another one of the same type, in the host's
	// interceptor.
	Change(host *actors.Ref)
}

// gated reports whether one of the features is a Gate.
func gated(features []Feature) bool {
	return slices.ContainsFunc(features, func(f Feature) bool { _, is := f.(Gate); return is })
}

// validateFeatures calls bad with what is wrong with the features of a spec.
func (s HostSpec) validateFeatures(bad func(field, format string, args ...any)) {
	seen := map[string]bool{}
	for _, f := range s.Features {
		if f == nil {
			bad("features", "one of them is nil")
			continue
		}
		name := f.Setting()
		if seen[name] {
			bad(name, "the host has two features of this name")
		}
		seen[name] = true
		if err := f.Validate(s.Protocol); err != nil {
			bad(name, "%w", err)
		}
	}
	if gated(s.Features) && s.Healthy != nil {
		bad("healthy", "both a function and a feature say how it is checked; set one of them")
	}
	if s.Start.WhenHealthy && s.Healthy == nil && !gated(s.Features) {
		bad("start", "it ends when the host is found healthy, and nothing says how that is checked")
	}
}

// differingFeatures returns the names of the features in which two specs differ.
func differingFeatures(a, b []Feature) (names []string) {
	return featuresApart(a, b, func(f, g Feature) bool { return same(f, g) })
}

// fixedFeaturesDiffer reports whether two specs differ in features that cannot change
// while the host runs.
func fixedFeaturesDiffer(a, b []Feature) bool {
	return len(featuresApart(a, b, func(f, g Feature) bool {
		_, live := f.(Live)
		return live && reflect.TypeOf(f) == reflect.TypeOf(g) || same(f, g)
	})) > 0
}

// featuresApart returns the names of the features that only one of two specs has, or that
// are not equal.
func featuresApart(a, b []Feature, equal func(f, g Feature) bool) (names []string) {
	byName := func(features []Feature) map[string]Feature {
		out := make(map[string]Feature, len(features))
		for _, f := range features {
			name := fmt.Sprintf("%T", f)
			if f != nil {
				name = f.Setting()
			}
			out[name], names = f, append(names, name)
		}
		return out
	}
	x, y := byName(a), byName(b)
	return slices.DeleteFunc(names, func(name string) bool {
		f, both := x[name]
		g, too := y[name]
		return both && too && equal(f, g)
	})
}
