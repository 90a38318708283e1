package capture

func (c *Capture) start() { go c.run() }

// interrupt has a stop noticed.
func (c *Capture) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.breakOff()
}
