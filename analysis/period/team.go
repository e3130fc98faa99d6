package period

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"moriens/internal/team"
)

// distinct gives the sequences of the run, in the order of their first threads, and for each thread which one it does.
func (f *finder) distinct(view []Thread) ([]*sequence, []int32) {
	if f.Alone() {
		return distinct(view, f.workers)
	}
	keys := make([][]uint64, len(view))
	inBatches(view, f.workers, func(t int) {
		if f.Mine(t) {
			keys[t] = view[t].key()
		}
	})
	keys = team.Must(team.ByThread(f.Threads, keys))
	var list []*sequence
	of := make([]int32, len(view))
	known := make(map[[keySize]uint64]int32)
	for t, key := range keys {
		k := [keySize]uint64(key)
		s, there := known[k]
		if !there {
			s = int32(len(list))
			known[k] = s
			list = append(list, &sequence{})
		}
		list[s].threads = append(list[s].threads, t)
		of[t] = s
	}
	return list, of
}

// keySize is two lengths and SHA-256.
const keySize = 2 + sha256.Size/8

// key distinguishes what the thread did from everything else: no two sequences are known to have one key.
func (t *Thread) key() []uint64 {
	h := sha256.New()
	var text []byte
	add := func(x uint32) {
		if text = binary.LittleEndian.AppendUint32(text, x); len(text) == 1<<12 {
			h.Write(text)
			text = text[:0]
		}
	}
	for _, s := range t.Symbols {
		add(s)
	}
	for _, a := range t.Anchors {
		add(uint32(a))
	}
	h.Write(text)
	key := []uint64{uint64(len(t.Symbols)), uint64(len(t.Anchors))}
	for part := range slices.Chunk(h.Sum(nil), 8) {
		key = append(key, binary.LittleEndian.Uint64(part))
	}
	return key
}

// A model is the thread that stands for a sequence.
type model struct {
	here bool   // a thread of this member does the sequence
	view Thread // as it is seen, without BeginNS
	own  Thread // as it is: symbols alone
}

// models gives each member the threads that stand for the sequences which its threads do.
func (f *finder) models(w *way) []model {
	list := make([]model, len(w.sequences))
	durations, symbols := make([][]int64, f.Size()), make([][]uint32, f.Size())
	for i, s := range w.sequences {
		first := s.threads[0]
		has := make([]bool, f.Size())
		for _, t := range s.threads {
			has[f.Owner(t)] = true
			if f.Mine(t) && !list[i].here {
				list[i] = model{true, w.view[t], f.threads[t]}
			}
		}
		for rank := range has {
			if f.Mine(first) && has[rank] && rank != f.Rank() {
				durations[rank] = append(durations[rank], f.threads[first].DurationNS...)
				symbols[rank] = append(symbols[rank], f.threads[first].Symbols...)
			}
		}
	}
	if f.Alone() {
		return list
	}
	allDurations := team.Must(team.Exchange(f.Threads, durations))
	allSymbols := team.Must(team.Exchange(f.Threads, symbols))
	for i, s := range w.sequences {
		owner := f.Owner(s.threads[0])
		if !list[i].here || owner == f.Rank() {
			continue
		}
		n := len(list[i].view.Symbols)
		list[i].view.DurationNS, allDurations[owner] = allDurations[owner][:n], allDurations[owner][n:]
		list[i].own.Symbols, allSymbols[owner] = allSymbols[owner][:n], allSymbols[owner][n:]
	}
	return list
}

// addUp adds up times by place, and times by a number.
func (f *finder) addUp(times []int64, byNumber map[int]int64) {
	f.Reduce(team.Sum, times)
	if f.Alone() {
		return
	}
	var pairs []int64
	for n, ns := range byNumber {
		pairs = append(pairs, int64(n), ns)
	}
	all := team.Must(team.Gather(f.Threads, pairs))
	clear(byNumber)
	for _, list := range all {
		for pair := range slices.Chunk(list, 2) {
			byNumber[int(pair[0])] += pair[1]
		}
	}
}

// shareShares gives each member what is known of each sequence where its first thread is.
func (f *finder) shareShares(list []*sequence, shares [][3]float64) {
	const n = len(shares[0])
	bits := make([]int64, n*len(shares)) // 0 is all zeros
	for i, x := range shares {
		if f.Mine(list[i].threads[0]) {
			for k := range x {
				bits[n*i+k] = int64(math.Float64bits(x[k]))
			}
		}
	}
	f.Reduce(team.Sum, bits)
	for i := range shares {
		for k := range n {
			shares[i][k] = math.Float64frombits(uint64(bits[n*i+k]))
		}
	}
}

// bringReference gives all members the thread whose phases are taken for the run's, and has them find its sections.
func (f *finder) bringReference() {
	if f.Alone() || f.reference.sequence < 0 {
		return
	}
	s := f.sequences[f.reference.sequence]
	first := s.threads[0]
	var times []int64
	var numbers []uint32
	if t := &f.threads[first]; f.Mine(first) {
		times = slices.Concat(t.BeginNS, t.DurationNS)
		numbers = slices.Clone(t.Symbols)
		for _, a := range t.Anchors {
			numbers = append(numbers, uint32(a))
		}
	}
	allTimes := team.Must(team.Gather(f.Threads, times))
	allNumbers := team.Must(team.Gather(f.Threads, numbers))
	if f.Mine(first) {
		return
	}
	times, numbers = allTimes[f.Owner(first)], allNumbers[f.Owner(first)]
	n := len(times) / 2
	t := Thread{Symbols: numbers[:n], BeginNS: times[:n], DurationNS: times[n:]}
	for _, a := range numbers[n:] {
		t.Anchors = append(t.Anchors, int32(a))
	}
	f.threads[first] = t
	if s.folder == nil {
		view := t
		if f.numbers != nil {
			view.Symbols = renumber(t.Symbols, f.numbers)
		}
		f.solve(&f.way, s, &model{true, view, t})
	}
}

// shareLoops gives all members what each thread has of each phase.
func (f *finder) shareLoops(phases []Phase) {
	if f.Alone() {
		return
	}
	own := make(map[int][]Loop)
	for i := range f.threads {
		if f.Mine(i) {
			for k := range phases {
				own[i] = append(own[i], phases[k].Threads[i])
			}
		}
	}
	for _, theirs := range team.Must(team.Values(f.Threads, own)) {
		for i, loops := range theirs {
			for k := range loops {
				phases[k].Threads[i] = loops[k]
			}
		}
	}
}

// shareTimes makes the times of phases those of all threads.
func (f *finder) shareTimes(times []iterationTimes) {
	for i := range times {
		x := &times[i]
		for _, list := range [][]int64{x.from, x.first} {
			f.Reduce(team.Min, list)
		}
		for _, list := range [][]int64{x.to, x.last, x.longest} {
			f.Reduce(team.Max, list)
		}
	}
}
