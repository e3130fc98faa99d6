package pairs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"moriens/internal/team"
)

// width is how many words a record takes.
const width = 15

// words are the records of a thread, in order.
func (c *counter) words() []int64 {
	keys := make([]key, 0, len(c.records))
	for k := range c.records {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, key.compare)
	words := make([]int64, 0, width*len(keys))
	for _, k := range keys {
		r := c.records[k]
		words = append(words, int64(k.what), int64(k.kind), int64(k.peer), k.size, k.time,
			r.Messages, r.Bytes, r.BlockedNS, r.RestNS, r.longestNS, r.firstNS, r.firstRestNS, r.firstAtNS, r.lateNS, r.known)
	}
	return words
}

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.what, o.what), cmp.Compare(k.peer, o.peer), cmp.Compare(k.kind, o.kind), cmp.Compare(k.size, o.size), cmp.Compare(k.time, o.time))
}

// Merge is collective: it gives the first member what all have counted. It changes x.
func (x *Records) Merge(t team.Threads) error {
	lists, err := team.FirstByThread(t, x.lists)
	if err != nil {
		return fmt.Errorf("pairs: %w", err)
	}
	oneSided := []int64{x.oneSided}
	if err := t.AllReduce(oneSided, team.Sum); err != nil {
		return fmt.Errorf("pairs: %w", err)
	}
	x.lists, x.oneSided = lists, oneSided[0]
	return team.Explain(t, x.check())
}

var errWords = errors.New("what a member has sent of it is not whole")

// check says whether records are whole, and of threads that are there.
func (x *Records) check() error {
	for i, list := range x.lists {
		if len(list)%width != 0 {
			return fmt.Errorf("pairs: thread %d: %w", i, errWords)
		}
		for r := range slices.Chunk(list, width) {
			if peer := r[2]; peer < 0 || peer >= int64(len(x.run.Threads)) {
				return fmt.Errorf("pairs: thread %d has messages of thread %d of %d", i, peer, len(x.run.Threads))
			}
		}
	}
	return nil
}
