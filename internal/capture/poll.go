package capture

// polled is empty: each pipe has a goroutine of its own.
type polled struct{}

func (c *Capture) start() { go c.run() }

// interrupt has a stop noticed.
func (c *Capture) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.breakOff()
}
