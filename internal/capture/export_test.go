package capture

// Texts returns the texts of lines, and Until waits for something.
var (
	Texts = texts
	Until = until
)
