package agent

import (
	"context"
	"time"
)

// stayEvery is the time between two looks whether the node is still needed.
const stayEvery = 20 * time.Millisecond

// stay keeps the node when it is done, so that the collector can ask for windows of full detail, until it says that it will not, or as long as
// it has said at most.
func (n *Node) stay(ctx context.Context) {
	tick := time.NewTicker(stayEvery)
	defer tick.Stop()
	for since := time.Now(); ; {
		if time.Now().After(n.up.Stay()) || n.hurried.Load() && time.Since(since) > hurryGrace {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
