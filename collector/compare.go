package collector

import (
	"context"
	"time"

	"google.golang.org/grpc"

	moriensv1 "moriens/proto/moriens/v1"
)

// Collectors on several hosts have counters of their own, and each agent compares its clock with that of its collector.
// The others compare theirs with the first one's, so that all agents' clocks hang together.

const (
	// compareEvery is the time between two rounds of exchanges, of compareProbes each: the quickest is kept.
	compareEvery  = 10 * time.Second
	compareProbes = 8
	// compareGrace is how long a round may take, on hosts that have other work to do.
	compareGrace = 10 * time.Second
)

// compare compares this collector's counter with the first one's, now, from time to time, and once more when nothing
// more is taken; not where they are one.
func (c *Collector) compare() {
	defer close(c.peers.linked)
	if c.peers.first() || !c.clock.known || c.clock.identity == "" {
		return
	}
	first, err := c.meet.At(0)
	if err != nil {
		c.log.Error("the first collector's clock", "error", err)
		return
	}
	conn, err := grpc.NewClient(first.Address, grpc.WithTransportCredentials(first.ClientCredentials()), grpc.WithNoProxy())
	if err != nil {
		c.log.Error("the first collector's clock", "error", err)
		return
	}
	defer conn.Close()
	client := moriensv1.NewControlServiceClient(conn)
	for last := false; ; {
		ctx, cancel := context.WithTimeout(first.ShowToken(context.Background()), compareGrace)
		link, err := c.exchange(ctx, client)
		cancel()
		switch {
		case err != nil:
			c.log.Warn("the clocks cannot be compared with the first collector's", "error", err)
		case link.To == c.clock.identity:
			return // it is this one's
		default:
			c.peers.mu.Lock()
			c.peers.links = append(c.peers.links, link)
			c.peers.mu.Unlock()
		}
		if last {
			return
		}
		select {
		case <-time.After(compareEvery):
		case <-c.taking.Done():
			last = true
		}
	}
}

// exchange is a round. One that is cut short is as good as its quickest exchange.
func (c *Collector) exchange(ctx context.Context, client moriensv1.ControlServiceClient) (best *moriensv1.ShareLink, err error) {
	for range compareProbes {
		e := &moriensv1.ClockExchange{Clock: moriensv1.Clock(c.clock.kind)}
		if e.SentTicks, err = c.clock.now(); err != nil {
			return nil, err
		}
		reply, err := client.Compare(ctx, &moriensv1.CompareRequest{})
		if err != nil && best != nil {
			return best, nil
		}
		if err != nil {
			return nil, err
		}
		if e.ReturnedTicks, err = c.clock.now(); err != nil {
			return nil, err
		}
		e.ReceivedTicks, e.RepliedTicks = reply.ReceivedTicks, reply.RepliedTicks
		if best == nil || e.ReturnedTicks-e.SentTicks < best.Exchange.ReturnedTicks-best.Exchange.SentTicks {
			best = &moriensv1.ShareLink{From: c.clock.identity, To: reply.Identity, Exchange: e}
		}
	}
	return best, nil
}

// compared are the comparisons of this collector's counter with the first one's, when nothing more is taken.
func (c *Collector) compared() []*moriensv1.ShareLink {
	if c.peers == nil {
		return nil
	}
	<-c.peers.linked
	c.peers.mu.Lock()
	defer c.peers.mu.Unlock()
	return c.peers.links
}
