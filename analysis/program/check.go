package program

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Read reads a program, and refuses what no program can be.
func Read(text []byte) (*Program, error) {
	p := new(Program)
	if err := json.Unmarshal(text, p); err != nil {
		if err.Error() == "unexpected end of JSON input" {
			return nil, fmt.Errorf("it is cut short, at %d bytes", len(text))
		}
		return nil, err
	}
	return p, nil
}

// UnmarshalJSON reads what Write writes. It checks the format before it looks at the rest, which another format may
// have in another way.
func (p *Program) UnmarshalJSON(text []byte) error {
	var version struct {
		Format *int `json:"format"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return err
	}
	switch {
	case version.Format == nil:
		return errors.New("it has no format number")
	case *version.Format != Format:
		return fmt.Errorf("it has format %d, this moriens reads %d", *version.Format, Format)
	}
	type fields Program // without this method
	read := new(fields)
	if err := json.Unmarshal(text, read); err != nil {
		return err
	}
	*p = Program(*read)
	return p.Check()
}

// Check says what is wrong with a program, and at which node.
func (p *Program) Check() error {
	c := checker{ranks: p.Ranks}
	switch {
	case p.Ranks < 1:
		return fmt.Errorf("it has %d ranks", p.Ranks)
	case !isShare(p.Certain.Calls) || !isShare(p.Certain.Time):
		return errors.New("what is certain is no share, 0 to 1")
	case p.Basis != ByCode && p.Basis != ByOrder && p.Basis != BySequence:
		return fmt.Errorf("its basis is %q, not %s, %s or %s", p.Basis, ByCode, ByOrder, BySequence)
	}
	if p.Worlds != nil && (numberingOf(p.Worlds).size != p.Ranks || slices.Min(p.Worlds) < 0) {
		return fmt.Errorf("worlds of %v ranks are not %d ranks", p.Worlds, p.Ranks)
	}
	if err := p.OfRanks.check(p.Ranks); err != nil {
		return err
	}
	if err := c.body(p.Body); err != nil || p.Readings == nil {
		return err
	}
	return p.Readings.check(p.Ranks)
}

// A checker has what was seen of a program: the number of the last node, and sums, which views and folding rely on.
type checker struct {
	ranks, last int
	share       float64
	ns, counts  float64
}

// most is what sums may be: far less than what 64 bits hold.
const most = 1 << 62

func (c *checker) add(n *Node) error {
	c.share += n.Share
	c.ns += float64(n.ComputeNS) + float64(n.MPINS) + float64(n.LateNS)
	c.counts += float64(n.Count) + float64(n.Lines)
	if !(c.share <= 1+1e-6) {
		return fmt.Errorf("shares add up to %g", c.share)
	}
	if c.ns > most || c.counts > most {
		return errors.New("times or counts add up to more than can be")
	}
	return nil
}

func isShare(x float64) bool { return x >= 0 && x <= 1+1e-6 }

func (c *checker) body(list []*Node) error {
	for i, n := range list {
		if n == nil {
			return fmt.Errorf("behind node %d one is null", c.last)
		}
		if n.ID <= c.last {
			return fmt.Errorf("behind node %d follows node %d: numbers must grow in the order of the text", c.last, n.ID)
		}
		c.last = n.ID
		if n.Else && (i == 0 || list[i-1] == nil || list[i-1].Kind != KindIf) {
			return fmt.Errorf("node %d is an else without an if before it", n.ID)
		}
		err := c.node(n)
		if err == nil {
			err = c.add(n)
		}
		if err != nil {
			return fmt.Errorf("node %d: %w", n.ID, err)
		}
		if err := c.body(n.Body); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) node(n *Node) error {
	if n.Count < 0 || n.Line < 0 || n.Lines < 0 || n.StandsFor < 0 || n.Unrolled < 0 || n.Happened < 0 || n.Of < 0 {
		return errors.New("a count, or a line, is negative")
	}
	if n.MPINS < 0 || n.LateNS < 0 || n.ComputeNS < 0 || !(n.MeanNS >= 0) || !(n.StdNS >= 0) {
		return errors.New("a time is negative")
	}
	if !isShare(n.Share) || !isShare(n.Explains) {
		return errors.New("a share is not 0 to 1")
	}
	if n.Else && n.Kind != KindIf {
		return fmt.Errorf("it is of kind %s, and an else", n.Kind)
	}
	if len(n.Body) > 0 && (n.Kind == KindMPI || n.Kind == KindCompute || n.Kind == KindOther || n.Kind == KindRecursion) {
		return fmt.Errorf("it is of kind %s, and has a body", n.Kind)
	}
	switch n.Kind {
	case KindLoop:
		return n.loop()
	case KindCall, KindRecursion:
		if n.Function == "" {
			return errors.New("the call has no function")
		}
		return nil
	case KindIf:
		return c.condition(n)
	case KindMPI:
		return n.mpi()
	case KindCompute:
		return n.compute()
	case KindOther:
		if n.Lines < 1 {
			return errors.New("it stands for no lines")
		}
		return n.pathsFit()
	case "":
		return errors.New("it has no kind")
	}
	return fmt.Errorf("kind %q is not known", n.Kind)
}

func (n *Node) loop() error {
	t := n.Trips
	if t == nil {
		return errors.New("the loop has no trips")
	}
	if t.Least < 0 || t.Most < t.Least || t.Entries < 0 || t.Total < 0 || !within(t.Mean, float64(t.Least), float64(t.Most)) {
		return errors.New("the trips of the loop cannot be")
	}
	switch t.Kind {
	case TripsConstant, TripsCycle, TripsByRank, TripsLinear, TripsVaries:
	default:
		return fmt.Errorf("trips of kind %q are not known", t.Kind)
	}
	if (t.Kind == TripsCycle) != (len(t.Cycle) > 0) {
		return errors.New("trips have a cycle if they are of that kind, and only then")
	}
	for _, x := range t.Cycle {
		if x < t.Least || x > t.Most {
			return fmt.Errorf("%d trips in a cycle of %d to %d", x, t.Least, t.Most)
		}
	}
	if q := t.Quartiles; len(q) != 0 && (len(q) != 3 || !(q[0] <= q[1] && q[1] <= q[2])) {
		return errors.New("quartiles of trips are three that grow")
	}
	if strings.TrimSpace(t.Expression) == "" {
		return errors.New("the trips have no expression")
	}
	return n.evidence()
}

// within allows for what rounding does to a mean.
func within(x, least, most float64) bool {
	some := 1e-9 * (1 + most)
	return x >= least-some && x <= most+some
}

func (n *Node) evidence() error {
	if n.By != ByCode && n.By != ByOrder && n.By != BySequence {
		return fmt.Errorf("evidence %q is not known", n.By)
	}
	return nil
}

func (c *checker) condition(n *Node) error {
	switch {
	case n.Ranks == nil && n.When == nil && !n.Else:
		return errors.New("the if has no condition")
	case n.Ranks != nil && len(n.Ranks) == 0:
		return errors.New("the list of ranks is empty: null stands for all")
	case n.Happened > n.Of:
		return fmt.Errorf("it happened %d of %d times", n.Happened, n.Of)
	}
	if err := cmp.Or(n.Ranks.check(c.ranks), n.OfRanks.check(c.ranks)); err != nil {
		return err
	}
	if n.Threads != nil && (len(n.Threads) == 0 || n.Ranks == nil || n.RanksText == "" && !n.Else) {
		return errors.New("a condition on threads has no threads, no ranks, or no words")
	}
	if n.When != nil {
		if err := n.When.check(); err != nil {
			return err
		}
	}
	return n.evidence()
}

// check says what is wrong with a list of some of so many ranks.
func (r RankList) check(ranks int) error {
	last := -1
	for _, x := range r {
		if x <= last || x >= ranks {
			return fmt.Errorf("rank %d behind rank %d, of %d ranks", x, last, ranks)
		}
		last = x
	}
	return nil
}

func (c *When) check() error {
	fits := c.Rank >= -1 && c.Rank <= 1
	switch c.Kind {
	case WhenEvery, WhenNotEvery:
		fits = fits && c.Period >= 1 && c.Offset >= 0 && c.Offset < c.Period
	case WhenAt, WhenNotAt, WhenFrom, WhenTo, WhenDepth:
		fits = fits && (c.Trip >= 0 || c.Rank != 0)
	case WhenRange:
		fits = fits && (c.First >= 0 || c.Rank != 0) && c.Last >= c.First && c.Stride >= 1
	case WhenLast, WhenNotLast, WhenUnknown:
		fits = c.Rank == 0
	default:
		return fmt.Errorf("conditions of kind %q are not known", c.Kind)
	}
	if !fits {
		return fmt.Errorf("the condition %q has figures that cannot be", c.Kind)
	}
	return nil
}

func (n *Node) mpi() error {
	if n.Function == "" {
		return errors.New("the MPI call has no function")
	}
	for _, p := range n.Peers {
		if p.Way != "to" && p.Way != "from" {
			return fmt.Errorf("the way of a peer is %q, not to or from", p.Way)
		}
		if p.Kind == "" || p.Text == "" {
			return errors.New("a peer has no kind or no text")
		}
	}
	if b := n.Bytes; b != nil && (b.Least < 0 || b.Most < b.Least || !within(b.Mean, float64(b.Least), float64(b.Most))) {
		return errors.New("the bytes of the call cannot be")
	}
	if n.Root != nil && *n.Root < 0 {
		return fmt.Errorf("its root is %d", *n.Root)
	}
	return n.pathsFit()
}

func (n *Node) pathsFit() error {
	for _, x := range slices.Concat(n.Paths, n.After) {
		if x < 0 {
			return fmt.Errorf("call path %d", x)
		}
	}
	return nil
}

func (n *Node) compute() error {
	for _, c := range n.Clusters {
		if c.Bursts < 0 || !isShare(c.Share) {
			return fmt.Errorf("cluster %d has figures that cannot be", c.Cluster)
		}
	}
	for _, c := range n.Counters {
		if c.Name == "" || c.N < 0 {
			return errors.New("a counter has no name, or a negative number of bursts")
		}
	}
	for _, a := range n.Around {
		if a[0] < 0 || a[1] < 0 {
			return fmt.Errorf("call paths %d and %d", a[0], a[1])
		}
	}
	return nil
}
