package trace

// Kind returns the word that files have for what a Communicator is.
func (c *Communicator) Kind() string {
	switch {
	case c.Window:
		return "window"
	case c.File:
		return "file"
	case c.Inter:
		return "intercommunicator"
	}
	return "communicator"
}
