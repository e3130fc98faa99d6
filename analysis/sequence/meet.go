package sequence

import (
	"moriens/internal/mix"
	"moriens/internal/team"
)

// A Hash distinguishes lists of numbers that are in different places: of 128 bits, so that none are ever taken for each
// other.
type Hash [2]uint64

func (h *Hash) begin(length int) { *h = Hash{uint64(length), ^uint64(length)} }

func (h *Hash) add(x uint64) {
	h[0] = mix.Bits(h[0] ^ x)
	h[1] = mix.Bits(h[1] ^ x)
}

// HashOf is the hash of a sequence of labels.
func HashOf(labels []int32) Hash {
	var h Hash
	h.begin(len(labels))
	for _, label := range labels {
		h.add(uint64(uint32(label)))
	}
	return h
}

// meet brings the pieces of each segment together at one member: those of a stretch of the run at each that has
// sequences. It returns the segments of this member, with what all threads do there.
func (a *aligner) meet(segments []segment) ([]segment, error) {
	if len(a.members) == 0 || a.Team.Size() == 1 {
		return segments, nil
	}
	ends, err := a.shareOut(segments)
	if err != nil {
		return nil, err
	}
	sent := make([][]uint64, a.Team.Size()) // per segment: pieces; per piece: its hash, length, threads
	begin := 0
	for rank, end := range ends {
		for _, s := range segments[begin:end] {
			sent[rank] = append(sent[rank], uint64(len(s.pieces)))
			for _, x := range s.pieces {
				h := HashOf(x.labels)
				sent[rank] = append(sent[rank], h[0], h[1], uint64(len(x.labels)), uint64(x.threads))
			}
		}
		begin = end
	}
	received, err := team.Exchange(a.Team, sent)
	if err != nil {
		return nil, err
	}
	me := a.Team.Rank()
	if me > 0 {
		a.first = ends[me-1]
	}
	mine := segments[a.first:ends[me]]
	wanted := a.merge(mine, received)
	return mine, a.fetch(segments, mine, wanted)
}

// shareOut says for each member where the segments end that it aligns. They are shared out by their bursts.
func (a *aligner) shareOut(segments []segment) ([]int, error) {
	costs := make([]int64, len(segments))
	for i, s := range segments {
		for _, x := range s.pieces {
			costs[i] += int64(len(x.labels)) + 1
		}
	}
	if err := a.Team.AllReduce(costs, team.Sum); err != nil {
		return nil, err
	}
	var total, sum int64
	for _, c := range costs {
		total += c
	}
	ends := make([]int, a.Team.Size())
	for i, c := range costs {
		at := (sum + c/2) * int64(len(a.members)) / total
		ends[a.members[min(int(at), len(a.members)-1)]] = i + 1
		sum += c
	}
	for rank := 1; rank < len(ends); rank++ {
		ends[rank] = max(ends[rank], ends[rank-1])
	}
	return ends, nil
}

// A want is a piece whose labels another member has.
type want struct {
	segment, piece int32 // here, counting from this member's first segment
	at             int32 // among the other's pieces of the segment
}

// merge makes one piece of those of all members that are alike, and returns by member those of which it has the labels.
func (a *aligner) merge(mine []segment, received [][]uint64) [][]want {
	type key struct {
		hash   Hash
		length uint64
	}
	type known struct {
		piece
		rank, at int32 // who has the labels, and where
	}
	me := int32(a.Team.Rank())
	wanted := make([][]want, len(received))
	places := make(map[key]int)
	var all []known
	for s := range mine {
		own := mine[s].pieces
		clear(places)
		all = all[:0]
		for rank, words := range received {
			pieces := int(words[0])
			words = words[1:]
			for i := range pieces {
				w := words[4*i : 4*i+4]
				k := key{Hash{w[0], w[1]}, w[2]}
				at, seen := places[k]
				if !seen {
					at = len(all)
					places[k] = at
					all = append(all, known{piece{}, int32(rank), int32(i)})
				}
				x := &all[at]
				x.threads += int64(w[3])
				if int32(rank) == me {
					x.rank, x.labels = me, own[i].labels
				}
			}
			received[rank] = words[4*pieces:]
		}
		merged := make([]piece, len(all))
		for i, x := range all {
			merged[i] = x.piece
			if x.rank != me {
				wanted[x.rank] = append(wanted[x.rank], want{int32(s), int32(i), x.at})
			}
		}
		mine[s].pieces = merged
	}
	return wanted
}

// fetch gets the labels of pieces from the members that have them. segments are all, as they were cut here, but for
// mine.
func (a *aligner) fetch(segments, mine []segment, wanted [][]want) error {
	asked := make([][]int32, len(wanted))
	for rank, list := range wanted {
		for _, w := range list {
			asked[rank] = append(asked[rank], int32(a.first)+w.segment, w.at)
		}
	}
	asked, err := team.Exchange(a.Team, asked)
	if err != nil {
		return err
	}
	answers := make([][]int32, len(asked))
	for rank, list := range asked {
		for i := 0; i < len(list); i += 2 {
			labels := segments[list[i]].pieces[list[i+1]].labels
			answers[rank] = append(append(answers[rank], int32(len(labels))), labels...)
		}
	}
	if answers, err = team.Exchange(a.Team, answers); err != nil {
		return err
	}
	for rank, list := range wanted {
		from := answers[rank]
		for _, w := range list {
			end := 1 + from[0]
			mine[w.segment].pieces[w.piece].labels = from[1:end:end]
			from = from[end:]
		}
	}
	return nil
}
