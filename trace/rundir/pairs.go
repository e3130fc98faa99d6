package rundir

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"moriens/internal/files"
	"moriens/internal/hint"
)

// PairsFile and PairsTableFile have who exchanged what with whom, and what it cost.
const (
	PairsFile      = "pairs.json"
	PairsTableFile = "pairs.parquet"
)

// PairsFormat is the version of both files, and of what `moriens pairs --json` prints.
const PairsFormat = 1

// What late times, seen transfers, causes and sizes of pairs were computed from. Counts, bytes and blocked times are
// exact with both.
const (
	PairsAll     = "all"     // all messages of the run, one by one
	PairsWindows = "windows" // the messages of the compared windows: estimates, with standard errors
)

// Pairs are pairs.json: what all ranks exchanged in point-to-point messages, what that cost, and what is unusual. The
// rows of pairs.parquet have each pair. Ranks are indices into the ranks of Hosts, sorted by world and rank. Times are
// seconds; null: not known.
type Pairs struct {
	Format  int      `json:"format"`
	Why     []string `json:"why,omitempty"` // what is not known, marked or left out, each a sentence without a full stop
	Basis   string   `json:"basis"`         // all or windows; empty where totals is null
	Seconds Number   `json:"seconds"`       // elapsed time of the run
	Within  string   `json:"within"`        // of what causes and findings are: main or run

	Hosts    []PairsHost     `json:"hosts"`
	Totals   *PairsTotals    `json:"totals"` // null: no messages, or nothing is known of them; why says why
	Table    PairsTable      `json:"table"`
	Lines    []PairsLine     `json:"lines"`
	Sizes    []PairsSize     `json:"sizes"`               // of all receives, exact
	Paths    []PairsCallPath `json:"call_paths"`          // calls that completed receives, by blocked time, descending; exact
	Causes   []PairsCause    `json:"causes"`              // of waits in messages, the largest first; those of .1 % of them and more
	Rest     Number          `json:"causes_rest_seconds"` // of those that are not listed
	Findings []PairsFinding  `json:"findings"`            // the largest first
}

// A PairsHost is which ranks of a world ran on a node.
type PairsHost struct {
	Name  string `json:"name"`
	World int    `json:"world"`
	Ranks string `json:"ranks"` // "0-3,8": world ranks
}

// PairsTable is how complete pairs.parquet is.
type PairsTable struct {
	Rows int64 `json:"rows"`
	// Rows of single pairs for which there was no room: they are added up, by host or not and by offset.
	Summed        int64  `json:"summed"`
	SummedBlocked Number `json:"summed_blocked_seconds"`
	SummedBytes   int64  `json:"summed_bytes"`
}

// PairsTotals are sums over all pairs.
type PairsTotals struct {
	Messages          int64  `json:"messages"` // received, or sent to ranks without a record
	Bytes             int64  `json:"bytes"`
	InternodeMessages int64  `json:"internode_messages"`
	InternodeBytes    int64  `json:"internode_bytes"`
	Pairs             int64  `json:"pairs"`           // of ranks that exchanged messages
	Blocked           Number `json:"blocked_seconds"` // in calls that completed receives
	Send              Number `json:"send_seconds"`    // in calls that completed sends and no receive
	LateSender        Number `json:"late_sender_seconds"`
	LateSenderError   Number `json:"late_sender_error_seconds"` // standard error; 0 where basis is all
	LateReceiver      Number `json:"late_receiver_seconds"`
	LateReceiverError Number `json:"late_receiver_error_seconds"`
	Unexplained       Number `json:"unexplained_seconds"`     // of the late times: without a cause in the record
	Collectives       Number `json:"collective_wait_seconds"` // waits in collectives: of all ranks, of no pair
}

// A PairsLine is the time that transfers of ranks of one node, or of two, take by their size: latency + bytes /
// bandwidth.
type PairsLine struct {
	SameNode  bool   `json:"same_node"`
	Latency   Number `json:"latency_seconds"`   // null: too few sizes
	Bandwidth Number `json:"bytes_per_second"`  // null: too few sizes, or no time depends on it
	Messages  int64  `json:"messages"`          // transfers that were seen: the receiver was there before the send
	Spread    Number `json:"spread"`            // median deviation from the line, relative
	AtMost    bool   `json:"at_most,omitempty"` // most of their calls completed others too: it is what transfers take at most
	// Of at least four sizes, over a factor of ten: their times do not grow with them.
	Unfollowed bool            `json:"does_not_follow_size,omitempty"`
	Sizes      []PairsLineSize `json:"sizes"`
}

// A PairsLineSize is what transfers of a size take.
type PairsLineSize struct {
	FromBytes int64  `json:"from_bytes"`
	ToBytes   int64  `json:"to_bytes"`
	Messages  int64  `json:"messages"`
	Quartile  Number `json:"quartile_seconds"` // lower
	Median    Number `json:"median_seconds"`
	P95       Number `json:"p95_seconds"`
	Odd       bool   `json:"odd,omitempty"` // it does not follow the line
}

// A PairsSize is messages of some sizes: a power of 2, to twice that less 1; 0 to 0.
type PairsSize struct {
	FromBytes int64  `json:"from_bytes"`
	ToBytes   int64  `json:"to_bytes"`
	Messages  int64  `json:"messages"`
	Bytes     int64  `json:"bytes"`
	Blocked   Number `json:"blocked_seconds"`
}

// A PairsCallPath is calls that completed receives.
type PairsCallPath struct {
	CallPath string `json:"call_path"`
	Messages int64  `json:"messages"`
	Bytes    int64  `json:"bytes"`
	Blocked  Number `json:"blocked_seconds"`
}

// A PairsCause is what made ranks wait in messages: what a rank did, or the transfers of a pair.
type PairsCause struct {
	Rank     *int    `json:"rank"`  // null: it is a pair
	Pair     *[2]int `json:"pair"`  // null: it is a rank
	What     string  `json:"what"`  // computing, MPI or outside
	Share    Number  `json:"share"` // of the late time
	Seconds  Number  `json:"seconds"`
	Direct   Number  `json:"direct_seconds"` // of that, waits for this very rank; the rest was handed on
	CallPath string  `json:"call_path"`
	Cluster  *int32  `json:"cluster"` // null: none
}

// Kinds of findings.
const (
	PairsLateSender    = "late-sender"
	PairsLateReceiver  = "late-receiver"
	PairsSlowLink      = "slow-link"
	PairsSlowNode      = "slow-node"
	PairsSmallMessages = "small-messages"
	PairsFirstMessage  = "first-message"
	PairsIrregular     = "irregular"
	PairsHeavyPair     = "heavy-pair" // far more blocked time than pairs that are alike
	PairsPlacing       = "placement"
)

// A PairsFinding is something unusual, in words. Fields that say nothing of a kind are null or empty.
type PairsFinding struct {
	Kind     string   `json:"kind"`
	Seconds  Number   `json:"seconds"` // what it costs; of a placement, what it saves
	Ranks    []int    `json:"ranks"`
	Pairs    [][2]int `json:"pairs"`
	Node     string   `json:"node"`
	Factor   Number   `json:"factor"`
	Bytes    int64    `json:"bytes"`
	Messages int64    `json:"messages"`
	CallPath string   `json:"call_path"`
	Text     string   `json:"text"` // a sentence without a full stop
	// Of very many pairs, those that are not among the pairs and ranks above.
	Unlisted int64 `json:"unlisted_pairs,omitempty"`
}

// Write writes the file.
func (p *Pairs) Write(to io.Writer) error {
	some(&p.Hosts)
	some(&p.Lines)
	some(&p.Sizes)
	some(&p.Paths)
	some(&p.Causes)
	some(&p.Findings)
	for i := range p.Lines {
		some(&p.Lines[i].Sizes)
	}
	for i := range p.Findings {
		some(&p.Findings[i].Ranks)
		some(&p.Findings[i].Pairs)
	}
	return writeJSON(to, p)
}

// ReadPairs reads pairs.json of a run directory, and refuses figures that cannot be.
func ReadPairs(dir string) (*Pairs, error) {
	p := new(Pairs)
	if err := readJSON(files.Dir(dir), PairsFile, PairsFormat, p); err != nil {
		return nil, err
	}
	if !p.plausible() {
		return nil, hint.With(fmt.Errorf("%s has figures that cannot be", PairsFile), AdviseDamage)
	}
	return p, nil
}

// plausible says that the figures can be: ranks are those of the hosts, times are no less than 0, shares are 0 to 1,
// and words are those of the format.
func (p *Pairs) plausible() bool {
	f := waitsFigures{right: true}
	f.times(p.Seconds, p.Table.SummedBlocked)
	f.counts(p.Table.Rows, p.Table.Summed, p.Table.SummedBytes)
	f.word(p.Within == WithinMain || p.Within == WithinRun)
	ranks := 0
	for _, h := range p.Hosts {
		n, known := CountRanks(h.Ranks)
		f.word(known && h.World >= 0)
		ranks += n
	}
	rank := func(list ...int) {
		for _, r := range list {
			f.word(r >= 0 && r < ranks)
		}
	}
	pair := func(list ...[2]int) {
		for _, x := range list {
			rank(x[:]...)
			f.word(x[0] < x[1])
		}
	}
	if t := p.Totals; t == nil {
		f.word(len(p.Why) > 0 && p.Basis == "" && p.Table.Rows == 0 && len(p.Findings) == 0)
	} else {
		f.word(p.Basis == PairsAll || p.Basis == PairsWindows)
		f.counts(t.Messages, t.Bytes, t.InternodeMessages, t.InternodeBytes, t.Pairs)
		f.times(t.Blocked, t.Send, t.LateSender, t.LateSenderError, t.LateReceiver, t.LateReceiverError, t.Unexplained, t.Collectives)
	}
	for i := range p.Lines {
		l := &p.Lines[i]
		f.times(l.Latency, l.Spread)
		f.word(!(l.Bandwidth <= 0))
		f.counts(l.Messages)
		for _, x := range l.Sizes {
			f.counts(x.FromBytes, x.Messages)
			f.word(x.FromBytes <= x.ToBytes)
			f.times(x.Quartile, x.Median, x.P95)
		}
	}
	for _, x := range p.Sizes {
		f.counts(x.FromBytes, x.Messages, x.Bytes)
		f.word(x.FromBytes <= x.ToBytes)
		f.times(x.Blocked)
	}
	for _, x := range p.Paths {
		f.counts(x.Messages, x.Bytes)
		f.times(x.Blocked)
	}
	for _, x := range p.Causes {
		f.word((x.Rank == nil) != (x.Pair == nil))
		if x.Rank != nil {
			rank(*x.Rank)
		} else if x.Pair != nil {
			pair(*x.Pair)
		}
		f.what(x.What)
		f.times(x.Seconds, x.Direct)
		f.shares(x.Share)
	}
	f.times(p.Rest)
	for i := range p.Findings {
		x := &p.Findings[i]
		f.word(pairsFindings[x.Kind] && x.Text != "")
		rank(x.Ranks...)
		pair(x.Pairs...)
		f.times(x.Seconds)
		f.counts(x.Bytes, x.Messages)
		f.word(!(x.Factor < 0))
	}
	return f.right
}

var pairsFindings = map[string]bool{
	PairsLateSender: true, PairsLateReceiver: true, PairsSlowLink: true, PairsSlowNode: true, PairsSmallMessages: true, PairsFirstMessage: true, PairsIrregular: true,
	PairsHeavyPair: true, PairsPlacing: true,
}

// CountRanks is how many a list of ranks names, as "0-3,8" does, ascending, each once.
func CountRanks(text string) (n int, known bool) {
	last := -1
	known = EachRank(text, func(from, to int) bool {
		ok := from > last && to >= from && to < math.MaxInt32
		n += to - from + 1
		last = to
		return ok
	})
	return n, known
}

// EachRank hands out the stretches of a list of ranks, as "0-3,8" has, until give refuses one; it says whether the text
// is such a list, and none was refused.
func EachRank(text string, give func(from, to int) bool) bool {
	for text != "" {
		var from, to int
		n := digits(text, &from)
		to = from
		if n == 0 {
			return false
		}
		if text = text[n:]; text != "" && text[0] == '-' {
			if n = digits(text[1:], &to); n == 0 {
				return false
			}
			text = text[1+n:]
		}
		if !give(from, to) {
			return false
		}
		if text == "" {
			return true
		}
		if text[0] != ',' || len(text) == 1 {
			return false
		}
		text = text[1:]
	}
	return false
}

// digits reads a number at the begin of a text, and says how long it is.
func digits(text string, n *int) (length int) {
	*n = 0
	for length < len(text) && length < 10 && '0' <= text[length] && text[length] <= '9' {
		*n = *n*10 + int(text[length]-'0')
		length++
	}
	return length
}

// RankList is a list of ranks, ascending, as EachRank takes it.
func RankList(ranks []int) string {
	var text []byte
	for i := 0; i < len(ranks); {
		end := i
		for end+1 < len(ranks) && ranks[end+1] == ranks[end]+1 {
			end++
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(ranks[i]), 10)
		if end > i {
			text = strconv.AppendInt(append(text, '-'), int64(ranks[end]), 10)
		}
		i = end + 1
	}
	return string(text)
}
