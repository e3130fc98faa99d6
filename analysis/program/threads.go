package program

import (
	"slices"
	"strconv"
	"strings"
)

// Threads of a rank may do different things. What they did is said by their numbers in their ranks.

// A member is a thread of a rank.
type member struct{ rank, thread int }

func (s *solver) member(thread int32) member {
	return member{s.rank(thread), s.input.Threads[thread].Thread}
}

// byThread finds when an item comes that some threads of a rank execute and others do not: all executions of these, or
// those in some trips of them; of are the threads that got there.
func (s *solver) byThread(b int32, u, c set) (r rule, threads, of []int) {
	here := make(map[member]bool) // what gets there: whether it has the item
	part := make(set, len(u))     // executions of the threads that have it
	for g := range s.groups {
		part[g] = make([]uint64, len(u[g]))
		if count(u[g]) == 0 {
			continue
		}
		has := count(c[g]) > 0
		if has {
			copy(part[g], u[g])
		}
		for _, t := range s.groups[g].Threads {
			here[s.member(t)] = has
		}
	}
	ranks, numbers := make(map[int]bool), make(map[int]bool)
	ofRanks, ofNumbers := make(map[int]bool), make(map[int]bool)
	for m, has := range here {
		ofRanks[m.rank], ofNumbers[m.thread] = true, true
		if has {
			ranks[m.rank], numbers[m.thread] = true, true
		}
	}
	for m, has := range here { // each of these threads, of each of these ranks, and no other
		if has != (ranks[m.rank] && numbers[m.thread]) {
			return rule{}, nil, nil
		}
	}
	if len(numbers) == len(ofNumbers) {
		return rule{}, nil, nil
	}
	if r = s.rule(b, part, c); !r.known || r.ranks != nil {
		return rule{}, nil, nil
	}
	threads, of = sorted(numbers), sorted(ofNumbers)
	r.ranks = sorted(ranks)
	r.text = s.threadsText(r.ranks, sorted(ofRanks), threads, of)
	return r, threads, of
}

// threadsText says in words on which threads of which ranks something is, of those that got there.
func (s *numbering) threadsText(ranks, ofRanks, threads, of []int) string {
	last := of[len(of)-1]
	text := strings.ReplaceAll(rankRule(threads, of, last+1), "rank", "thread")
	text = strings.ReplaceAll(text, "size-1", strconv.Itoa(last))
	if len(ranks) < len(ofRanks) {
		text = s.whichRanks(ranks, ofRanks) + " and " + text
	}
	return text
}

// each puts threads together that have the same number.
func (s *solver) each(by map[member]int64) (list []RankSum) {
	type key struct {
		count   int64
		threads string
	}
	at := make(map[key]int)
	ofRank := make(map[int]map[int64]map[int]bool)
	ranks := make(map[int]bool)
	for m, n := range by {
		ranks[m.rank] = true
		if ofRank[m.rank] == nil {
			ofRank[m.rank] = make(map[int64]map[int]bool)
		}
		if ofRank[m.rank][n] == nil {
			ofRank[m.rank][n] = make(map[int]bool)
		}
		ofRank[m.rank][n][m.thread] = true
	}
	for _, r := range sorted(ranks) {
		var counts []int64
		for n := range ofRank[r] {
			counts = append(counts, n)
		}
		slices.Sort(counts)
		for _, n := range counts {
			threads := sorted(ofRank[r][n])
			if len(threads) == 1 && threads[0] == 0 {
				threads = nil
			}
			x := key{n, listOf(threads)}
			k, ok := at[x]
			if !ok {
				k = len(list)
				at[x] = k
				list = append(list, RankSum{Count: n, Threads: threads})
			}
			list[k].Ranks = append(list[k].Ranks, r)
		}
	}
	return list
}

// has reports whether a sum is of a thread of a rank.
func (x *RankSum) has(rank, thread int) bool {
	if x.Threads == nil {
		return thread == 0 && slices.Contains(x.Ranks, rank)
	}
	return slices.Contains(x.Threads, thread) && slices.Contains(x.Ranks, rank)
}
