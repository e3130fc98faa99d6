package waits

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"moriens/internal/team"
)

// Merge is collective: it gives the first member the lanes of all. Of each the calls that somebody waits for, or that
// wait for somebody, are sent one by one, and of what is between them the time of each kind. It changes x.
func (x *Lanes) Merge(t team.Threads) error {
	if t.Size() == 1 {
		return nil
	}
	if err := x.merge(t); err != nil {
		return fmt.Errorf("waits: %w", err)
	}
	return nil
}

func (x *Lanes) merge(t team.Threads) error {
	stops := x.stops(t)
	words := make([][]int64, len(x.list))
	for i := range x.list {
		if t.Mine(i) {
			words[i] = x.list[i].words(stops[i])
		}
	}
	words, err := team.FirstByThread(t, words)
	if err != nil {
		return err
	}
	messages, err := x.shareMessages(t, stops)
	if err != nil {
		return err
	}
	if t.Rank() == 0 {
		for i := range x.list {
			if err = x.list[i].take(words[i], x.run); err != nil {
				err = fmt.Errorf("thread %d: %w", i, err)
				break
			}
		}
		if err == nil {
			x.located = messages
			err = x.check()
		}
	}
	return team.Explain(t, err)
}

// stops are the rows of the calls of this member's threads that somebody waits for, or that may wait for somebody,
// ascending.
func (x *Lanes) stops(t team.Threads) [][]int32 {
	list := make([][]int32, len(x.list))
	add := func(thread, row int32) {
		if row >= 0 {
			list[thread] = append(list[thread], row)
		}
	}
	for i := range x.list {
		if !t.Mine(i) {
			continue
		}
		l := &x.list[i]
		add(int32(i), l.start)
		add(int32(i), l.end)
		if l.Unfinished {
			add(int32(i), int32(l.calls()-1))
		}
		if x.meaning.polling && (x.run.Messages > 0 || l.Collectives.Done != nil) {
			for row, path := range l.Path {
				if x.meaning.of(path).polls != noPoll {
					add(int32(i), int32(row))
					add(int32(i), min(int32(row)+1, int32(l.calls()-1))) // it ends a series of tests
				}
			}
		}
		for k, row := range l.Collectives.Call {
			add(int32(i), int32(row))
			if l.Collectives.Done != nil {
				add(int32(i), l.Collectives.Done[k])
			}
		}
		for k := range l.Known {
			add(int32(i), l.Known[k].Row)
		}
	}
	for i := range x.located {
		m, of := x.run.Message(i), &x.located[i]
		add(m.From, of.send)
		add(m.From, of.sent)
		add(m.To, of.posted)
		if of.done.row >= 0 {
			add(of.done.thread, of.done.row)
		}
	}
	for i := range list {
		slices.Sort(list[i])
		list[i] = slices.Compact(list[i])
	}
	return list
}

// among is the place of a row among some, which have it.
func among(stops []int32, row int32) int32 {
	if row < 0 {
		return row
	}
	i, _ := slices.BinarySearch(stops, row)
	return int32(i)
}

// messageWords is how many words a message takes.
const messageWords = 4

// shareMessages gives the first member what each knows of the calls of messages.
func (x *Lanes) shareMessages(t team.Threads, stops [][]int32) ([]located, error) {
	words := make([]int64, 0, messageWords*len(x.located))
	for i := range x.located {
		m, of := x.run.Message(i), x.located[i]
		if t.Mine(int(m.From)) {
			of.send, of.sent = among(stops[m.From], of.send), among(stops[m.From], of.sent)
		}
		if t.Mine(int(m.To)) {
			of.posted = among(stops[m.To], of.posted)
		}
		words = append(words, int64(of.send), int64(of.sent), x.completion(&m, of.done, stops), int64(of.posted))
	}
	if err := t.AllReduce(words, team.Max); err != nil { // who does not know says -1
		return nil, err
	}
	list := make([]located, len(x.located))
	for i := range list {
		m, w := x.run.Message(i), words[messageWords*i:]
		list[i] = located{int32(w[0]), int32(w[1]), x.completed(&m, w[2]), int32(w[3])}
	}
	return list, nil
}

// completion is the call that completed a receive as a number, the largest of which is the one that counts: that of the
// thread that posted it, else that of the first thread of its rank. -1: none is known here.
func (x *Lanes) completion(m *Message, done place, stops [][]int32) int64 {
	if done.row < 0 {
		return -1
	}
	before := int64(len(x.list)) // the thread that posted it
	if done.thread != m.To {
		before -= 1 + int64(done.thread)
	}
	return before<<32 | int64(among(stops[done.thread], done.row))
}

// completed is the call of a completion.
func (x *Lanes) completed(m *Message, completion int64) place {
	if completion < 0 {
		return place{-1, -1}
	}
	done := place{m.To, int32(completion & math.MaxInt32)}
	if before := completion >> 32; before < int64(len(x.list)) {
		done.thread = int32(int64(len(x.list)) - 1 - before)
	}
	return done
}

// headWords is how many words come before the columns of a lane.
const headWords = 11 + 4*len(reasons)

// words are a lane with some of its calls.
func (l *lane) words(stops []int32) []int64 {
	dead := int64(0)
	if l.Unfinished {
		dead = 1
	}
	words := []int64{l.EndNS, dead, l.mpiNS, l.mainMPINS, int64(among(stops, l.start)), int64(among(stops, l.end)), int64(len(stops)), 0, int64(len(l.Collectives.Call)), l.last, int64(len(l.Known))}
	for _, n := range l.notExplained {
		words = append(words, n.Calls, n.NS, n.MainCalls, n.MainNS)
	}
	for _, row := range stops {
		words = append(words, int64(row), l.EnterNS[row], l.ExitNS[row], int64(l.Path[row]))
	}
	pieces := int64(0)
	from := int32(0) // row of the first gap that belongs to what is before the next stop
	for k := range len(stops) + 1 {
		to := int32(l.calls())
		if k < len(stops) {
			to = stops[k]
		}
		add := func(key int32, ns int64) {
			if ns == 0 {
				return
			}
			if n := len(words); pieces > 0 && words[n-3] == int64(k) && words[n-2] == int64(key) {
				words[n-1] += ns
				return
			}
			words = append(words, int64(k), int64(key), ns)
			pieces++
		}
		for row := from; row < to; row++ {
			l.eachPiece(int(row), add)
			add(mpiKey(l.Path[row]), l.ExitNS[row]-l.EnterNS[row])
		}
		l.eachPiece(int(to), add)
		from = to + 1
	}
	words[7] = pieces
	c := &l.Collectives
	for k, row := range c.Call {
		done, instance := among(stops, int32(row)), int32(-1)
		if c.Done != nil {
			done = among(stops, c.Done[k])
		}
		if c.Instance != nil {
			instance = c.Instance[k]
		}
		words = append(words, int64(among(stops, int32(row))), int64(done), int64(c.Comm[k]), c.Ordinal[k], int64(instance), c.Sent[k], c.Received[k], int64(c.Root[k]))
	}
	for k := range l.Known {
		w := &l.Known[k]
		words = append(words, int64(among(stops, w.Row)), int64(w.For), int64(w.Kind), w.UntilNS)
	}
	return words
}

var errWords = errors.New("what a member has sent of it is not whole")

// take makes a lane of its words.
func (l *lane) take(words []int64, run *Run) error {
	if len(words) < headWords {
		return errWords
	}
	t := *l.Thread
	head := words[:headWords]
	t.EndNS, t.Unfinished, l.last = head[0], head[1] != 0, head[9]
	stops, pieces, collectives, known := head[6], head[7], head[8], head[10]
	rest := words[headWords:]
	if min(stops, pieces, collectives, known) < 0 || max(stops, pieces, collectives, known) > int64(len(rest)) || int64(len(rest)) != 4*stops+3*pieces+8*collectives+4*known {
		return errWords
	}
	l.tally = tally{start: int32(head[4]), end: int32(head[5]), mpiNS: head[2], mainMPINS: head[3]}
	for k := range l.notExplained {
		x := head[11+4*k:]
		l.notExplained[k] = NotExplained{Calls: x[0], NS: x[1], MainCalls: x[2], MainNS: x[3]}
	}
	t.EnterNS, t.ExitNS, t.Path = make([]int64, stops), make([]int64, stops), make([]uint32, stops)
	t.StartNS, t.DurationNS, t.Cluster, t.Kept, t.Known = nil, nil, nil, nil, nil
	l.rows, l.gap, l.pieces = make([]int32, stops), make([]int32, stops+1), nil
	for k := range stops {
		l.rows[k], t.EnterNS[k], t.ExitNS[k], t.Path[k] = int32(rest[0]), rest[1], rest[2], uint32(rest[3])
		rest = rest[4:]
	}
	lists := make(map[int][]piece)
	for range pieces {
		if rest[0] < 0 || rest[0] > stops || rest[1] < 0 {
			return errWords
		}
		lists[int(rest[0])] = append(lists[int(rest[0])], piece{int32(rest[1]), rest[2]})
		rest = rest[3:]
	}
	l.Thread = &t
	for k := range l.gap {
		l.put(k, lists[k])
	}
	c := &Collectives{}
	for range collectives {
		c.Call, c.Done, c.Comm = append(c.Call, uint32(rest[0])), append(c.Done, int32(rest[1])), append(c.Comm, int32(rest[2]))
		c.Ordinal, c.Instance = append(c.Ordinal, rest[3]), append(c.Instance, int32(rest[4]))
		c.Sent, c.Received, c.Root = append(c.Sent, rest[5]), append(c.Received, rest[6]), append(c.Root, int32(rest[7]))
		rest = rest[8:]
	}
	for range known {
		t.Known = append(t.Known, Wait{Row: int32(rest[0]), For: int32(rest[1]), Kind: Kind(rest[2]), UntilNS: rest[3]})
		rest = rest[4:]
	}
	t.Collectives = *c
	return t.check(run)
}

// check says whether all that is located is there.
func (x *Lanes) check() error {
	for i, of := range x.located {
		m := x.run.Message(i)
		calls := func(thread int32) int32 { return int32(x.list[thread].calls()) }
		if of.send >= calls(m.From) || of.sent >= calls(m.From) || of.posted >= calls(m.To) || of.done.thread < -1 || int(of.done.thread) >= len(x.list) || of.done.thread >= 0 && of.done.row >= calls(of.done.thread) {
			return fmt.Errorf("message %d is of a call that is not there", i)
		}
	}
	return nil
}
