package rundirtest

import (
	"math"
	"path/filepath"
	"testing"

	"moriens/internal/files"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// CheckPairs checks that what a run directory says of pairs adds up: rows of pairs.parquet, whose times have three
// digits, to the totals of pairs.json, causes to the late times to the nanosecond, hosts to the ranks. It returns both.
func CheckPairs(t testing.TB, dir string) (*rundir.Pairs, []parquet.PairsRow) {
	t.Helper()
	p, err := rundir.ReadPairs(dir)
	if err != nil {
		t.Fatal(err)
	}
	file, err := files.Open(filepath.Join(dir, rundir.PairsTableFile))
	if p.Totals == nil {
		if err == nil || len(p.Why) == 0 {
			t.Errorf("nothing is known of pairs, for %q, and reading %s: %v", p.Why, rundir.PairsTableFile, err)
		}
		return p, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := parquet.ReadPairs(file, file.Size())
	if err != nil {
		t.Fatal(err)
	}
	c := pairsChecker{t, p, make(map[[2]int32]string)}
	c.hosts()
	c.rows(rows)
	c.sums()
	c.causes()
	return p, rows
}

type pairsChecker struct {
	testing.TB
	*rundir.Pairs
	node map[[2]int32]string // by world and rank
}

// about compares sums of times with three digits, and exact ones.
func (c pairsChecker) about(what string, got int64, want rundir.Number) {
	c.Helper()
	if w := ns(want); math.Abs(float64(got-w)) > .005*float64(w)+1 {
		c.Errorf("%s: %d ns, want %d", what, got, w)
	}
}

func (c pairsChecker) hosts() {
	c.Helper()
	for _, h := range c.Hosts {
		rundir.EachRank(h.Ranks, func(from, to int) bool {
			for r := from; r <= to; r++ {
				k := [2]int32{int32(h.World), int32(r)}
				if c.node[k] != "" {
					c.Errorf("world %d rank %d is on %s and %s", h.World, r, c.node[k], h.Name)
				}
				c.node[k] = h.Name
			}
			return true
		})
	}
}

func (c pairsChecker) rows(rows []parquet.PairsRow) {
	c.Helper()
	t := c.Totals
	var blocked, send, lateSender, lateReceiver, sized, messages, bytes, far, farBytes int64
	complete := true
	for i := range rows {
		r := &rows[i]
		own, peer := c.node[[2]int32{r.World, r.Rank}], c.node[[2]int32{r.PeerWorld, r.Peer}]
		if own == "" || r.SameHost && r.Peer >= 0 && own != peer { // two nodes may have one name
			c.Errorf("on %q, its peer on %q: %+v", own, peer, r)
		}
		late := max(0, r.LateNS)
		switch {
		case r.Sized():
			sized += r.Messages
		case r.Kind == parquet.PairsReceived:
			blocked += r.BlockedNS
			lateSender += late
			messages += r.Messages
			bytes += r.Bytes
			if peer != "" && !r.SameHost {
				far += r.Messages
				farBytes += r.Bytes
			}
		case r.Kind == parquet.PairsSent:
			send += r.BlockedNS
			lateReceiver += late
			if peer == "" && r.Peer >= 0 {
				messages += r.Messages
				bytes += r.Bytes
			}
		}
		complete = complete && r.Peer >= 0
		if float64(r.LongestNS) > 1.01*float64(r.BlockedNS)+1 || float64(r.FirstNS) > 1.01*float64(r.LongestNS)+1 {
			c.Errorf("the longest message takes longer than all: %+v", r)
		}
		if c.Basis == rundir.PairsAll && r.LateErrorNS > 0 {
			c.Errorf("an estimate: %+v", r)
		}
	}
	c.about("blocked", blocked, t.Blocked)
	c.about("sends", send, t.Send)
	if c.Basis == rundir.PairsAll && !math.IsNaN(float64(t.LateSender)) {
		c.about("late senders", lateSender, t.LateSender)
		c.about("late receivers", lateReceiver, t.LateReceiver)
	}
	if int64(len(rows)) != c.Table.Rows || complete && (messages != t.Messages || bytes != t.Bytes || far != t.InternodeMessages || farBytes != t.InternodeBytes) {
		c.Errorf("%d rows of %d; %d messages of %d bytes, %d and %d between nodes: %+v", len(rows), c.Table.Rows, messages, bytes, far, farBytes, t)
	}
	if c.Basis == rundir.PairsAll && sized > t.Messages {
		c.Errorf("%d messages of a size, of %d", sized, t.Messages)
	}
}

// sums checks lists that are exact. Of what processes have counted, which is in ticks of their clocks, each row is
// rounded to nanoseconds.
func (c pairsChecker) sums() {
	c.Helper()
	var messages, blocked int64
	differs := func(rows int) bool {
		rounded := int64(0)
		if c.Basis == rundir.PairsWindows {
			rounded = int64(rows*len(c.node)) + c.Table.Rows
		}
		return max(blocked-ns(c.Totals.Blocked), ns(c.Totals.Blocked)-blocked) > rounded
	}
	for i := range c.Lines {
		l, seen := &c.Lines[i], int64(0)
		for _, s := range l.Sizes {
			seen += s.Messages
		}
		of := c.Totals.InternodeMessages
		if l.SameNode {
			of = c.Totals.Messages - of
		}
		if seen != l.Messages || seen > of {
			c.Errorf("sizes of a line have %d transfers, of %d messages: %+v", seen, of, l)
		}
	}
	for _, s := range c.Sizes {
		messages += s.Messages
		blocked += ns(s.Blocked)
	}
	if len(c.Sizes) > 0 && (differs(len(c.Sizes)) || messages > c.Totals.Messages) {
		c.Errorf("sizes of %d messages, %d ns: %+v", messages, blocked, c.Totals)
	}
	blocked = 0
	for _, p := range c.Paths {
		blocked += ns(p.Blocked)
	}
	if len(c.Paths) > 0 && differs(len(c.Paths)) {
		c.Errorf("call paths of %d ns: %+v", blocked, c.Totals)
	}
}

func (c pairsChecker) causes() {
	c.Helper()
	t := c.Totals
	if math.IsNaN(float64(t.Unexplained)) {
		if len(c.Causes) > 0 {
			c.Errorf("causes of what is not known: %+v", c.Causes)
		}
		return
	}
	caused := ns(c.Rest) + ns(t.Unexplained) + sumOf(c.Causes, func(x *rundir.PairsCause) rundir.Number { return x.Seconds })
	if late := ns(t.LateSender) + ns(t.LateReceiver); caused != late {
		c.Errorf("causes of %d ns, late times of %d", caused, late)
	}
	for k := range c.Causes {
		x := &c.Causes[k]
		if share := x.Seconds / (t.LateSender + t.LateReceiver); math.Abs(float64(x.Share-share)) > 1e-6 {
			c.Errorf("cause %d is %v of the late time: %+v", k, share, x)
		}
		if x.Direct > x.Seconds || k > 0 && x.Seconds > c.Causes[k-1].Seconds {
			c.Errorf("cause %d: %+v", k, x)
		}
	}
	for k := range c.Findings {
		if f := &c.Findings[k]; k > 0 && f.Seconds > c.Findings[k-1].Seconds {
			c.Errorf("finding %d: %+v", k, f)
		}
	}
}
