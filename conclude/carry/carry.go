// Package carry gathers a run, whose threads are spread over the members of a team, at the first of them.
//
// In comes a run, with the columns of its own threads at each member; out comes, at the first member, the run with the
// columns of all. Members run one program on machines of one kind, so that columns travel in their memory layout.
package carry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"moriens/internal/team"
	"moriens/trace"
)

// Run is collective: it returns, at the first member, the run with all that any member has of its threads; at the
// others nil.
func Run(owners team.Threads, run *trace.Run) (*trace.Run, error) {
	if owners.Size() == 1 {
		return run, nil
	}
	if err := owners.Check(len(run.Threads)); err != nil {
		return nil, fmt.Errorf("carry: %w", err)
	}
	parts := make([][]byte, owners.Size())
	if owners.Rank() != 0 {
		var w codec
		for i := range run.Threads {
			if owners.Mine(i) {
				w.thread(&run.Threads[i])
			}
		}
		parts[0] = w.text
	}
	texts, err := owners.AllToAll(parts)
	if err != nil {
		return nil, err
	}
	var whole *trace.Run
	if owners.Rank() == 0 {
		whole, err = unite(owners, run, texts)
	}
	return whole, team.Explain(owners, err)
}

// unite is a run with the threads that each member has sent.
func unite(owners team.Threads, run *trace.Run, texts [][]byte) (*trace.Run, error) {
	readers := make([]codec, len(texts))
	for rank, text := range texts {
		readers[rank] = codec{text: text, reads: true}
	}
	whole := *run
	whole.Threads = slices.Clone(run.Threads)
	for i := range whole.Threads {
		owner := owners.Owner(i)
		if owner == 0 {
			continue
		}
		r := &readers[owner]
		if r.thread(&whole.Threads[i]); r.err != nil {
			return nil, fmt.Errorf("carry: thread %d of member %d: %w", i, owner, r.err)
		}
	}
	for rank := range readers {
		if n := len(readers[rank].text); n > 0 {
			return nil, fmt.Errorf("carry: member %d has sent %d bytes too many", rank, n)
		}
	}
	return &whole, nil
}

// A codec writes columns one after the other, or reads them in the same order.
type codec struct {
	text  []byte // written so far, or left to read
	reads bool
	err   error
}

func (c *codec) thread(t *trace.Thread) {
	calls, x, y, waits := &t.Calls, &t.Transfers, &t.Collectives, &t.Waits
	column(c, &calls.EnterNS)
	column(c, &calls.ExitNS)
	column(c, &calls.Path)
	column(c, &calls.Count)
	unfinished := []bool{calls.Unfinished}
	if column(c, &unfinished); len(unfinished) == 1 {
		calls.Unfinished = unfinished[0]
	}
	c.bursts(&t.Bursts)
	column(c, &x.Call)
	column(c, &x.Kind)
	column(c, &x.Peer)
	column(c, &x.PeerWorld)
	column(c, &x.Tag)
	column(c, &x.Comm)
	column(c, &x.Bytes)
	column(c, &x.Done)
	column(c, &y.Call)
	column(c, &y.Comm)
	column(c, &y.Ordinal)
	column(c, &y.Sent)
	column(c, &y.Received)
	column(c, &y.Root)
	column(c, &waits.Call)
	column(c, &waits.Kind)
	column(c, &waits.UntilNS)
	column(c, &waits.For)
	column(c, &t.Critical)
	column(c, &y.Done)
	column(c, &y.Instance)
	column(c, &t.Phases)
	column(c, &t.Events)
	column(c, &t.Pauses)
	column(c, &t.Readings.TimeNS)
	columns(c, &t.Readings.Counters)
	column(c, &t.Lost)
	column(c, &t.Kept)
}

func (c *codec) bursts(b *trace.Bursts) {
	column(c, &b.StartNS)
	column(c, &b.DurationNS)
	column(c, &b.Before)
	column(c, &b.After)
	column(c, &b.Cluster)
	column(c, &b.Kind)
	columns(c, &b.Counters)
	column(c, &b.Weight)
	column(c, &b.Lineage)
	column(c, &b.Phase)
	column(c, &b.InCalls.Burst)
	columns(c, &b.InCalls.Counters)
}

// columns writes or reads several.
func columns(c *codec, list *[][]int64) {
	var length []struct{} // takes nothing but its length
	if *list != nil {
		length = make([]struct{}, len(*list))
	}
	if column(c, &length); c.reads && length != nil {
		*list = make([][]int64, len(length))
	}
	for i := range *list {
		column(c, &(*list)[i])
	}
}

var errShort = errors.New("it has sent too little")

// column writes or reads one: its length, from 1 on, or 0 for nil, and its elements, which have no pointers.
func column[T any](c *codec, list *[]T) {
	var none T
	size := int(unsafe.Sizeof(none))
	if !c.reads {
		length := uint64(0)
		if *list != nil {
			length = uint64(len(*list)) + 1
		}
		c.text = append(binary.LittleEndian.AppendUint64(c.text, length), raw(*list, size)...)
		return
	}
	*list = nil
	if c.err != nil {
		return
	}
	if len(c.text) < 8 {
		c.err = errShort
		return
	}
	length := binary.LittleEndian.Uint64(c.text)
	c.text = c.text[8:]
	switch {
	case length == 0:
		return
	case size > 0 && length-1 > uint64(len(c.text)/size):
		c.err = errShort
		return
	}
	*list = make([]T, length-1)
	c.text = c.text[copy(raw(*list, size), c.text):]
}

// raw is a list as it lies in memory.
func raw[T any](list []T, size int) []byte {
	if len(list) == 0 || size == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), len(list)*size)
}
