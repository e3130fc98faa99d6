package trace

import (
	"fmt"
	"strings"
)

// RankList is a Communicator's ranks as tables and traces have them: "0 2 3".
func (c *Communicator) RankList() string { return strings.Trim(fmt.Sprint(c.Ranks), "[]") }

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
