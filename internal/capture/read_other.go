//go:build !unix

package capture

func (c *Capture) read() error { return c.readBlocking() }
