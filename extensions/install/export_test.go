package install

// OnStep has f called before each step of the operations of in.
func OnStep(in *Installer, f func(name string)) { in.step = f }

// NameRule and Platform are for tests.
var (
	NameRule = nameRule
	Platform = platform
)
