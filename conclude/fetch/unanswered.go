package fetch

import (
	"context"
	"errors"
	"fmt"

	"moriens/collector/store"
	"moriens/collector/windows"
)

// Unanswered says of what its agent has not answered, and why.
func Unanswered(what string, f *store.Frozen, answer windows.Fetched) string {
	host := fmt.Sprintf("%016x", answer.Agent)
	for _, a := range f.Agents {
		if a.Hello.Agent == answer.Agent {
			host = a.Hello.Host
		}
	}
	why := answer.Err.Error()
	switch {
	case errors.Is(answer.Err, windows.ErrGone):
		why = "it had disconnected"
	case errors.Is(answer.Err, context.DeadlineExceeded), errors.Is(answer.Err, context.Canceled):
		why = "it did not answer in time"
	}
	return fmt.Sprintf("%s of ranks on %s: not received from their agent: %s", what, host, why)
}
