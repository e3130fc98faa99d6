package agent

import (
	"context"
	"time"
)

// lingerEvery is the time between two checks whether the node is still needed.
const lingerEvery = 20 * time.Millisecond

// linger keeps a node that is done available, so that the collector can request windows of full detail, until it
// releases the node, or as long as it has said at most.
func (n *Node) linger(ctx context.Context) {
	tick := time.NewTicker(lingerEvery)
	defer tick.Stop()
	for since := time.Now(); ; {
		if time.Now().After(n.up.LingerUntil()) || n.hurried.Load() && time.Since(since) > hurryGrace {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
