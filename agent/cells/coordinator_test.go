package cells_test

import (
	"cmp"
	"fmt"
	"math/big"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"moriens/agent/cells"
	"moriens/analysis/moment"
	moriensv1 "moriens/proto/moriens/v1"
)

// A coordinator takes the answers of one Store, as a collector does.
type coordinator struct {
	t      fataler
	store  *cells.Store
	number uint64
	survey uint64
	most   int                      // bytes of a part; 0 = what they are where tests make none smaller
	about  *moriensv1.CellsSurveyed // the latest

	groups []string
	units  []*coordinatorUnit
	sites  func(process uint64, path, function uint32) string
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

type coordinatorUnit struct {
	group   uint32
	key     []int64
	parent  uint32
	lo, hi  []float64
	sum     []float64
	count   uint64
	total   uint64
	squares *big.Int
	read    []uint64
	counter []*big.Int // sums
	square  []*big.Int // of counters
}

// ask gives all parts of an answer.
func (c *coordinator) ask(a *moriensv1.CellsAsk) (parts []*moriensv1.CellsAnswer, problem string) {
	c.t.Helper()
	c.number++
	a.Number = c.number
	if a.GetSurvey() == nil {
		a.Taken = c.survey
	}
	err := c.store.Answer(a, func(part *moriensv1.CellsAnswer) error {
		if len(parts) > 0 && parts[len(parts)-1].Last || part.Number != a.Number || part.Error != "" && !part.Last {
			c.t.Fatalf("a part behind the last, of another ask, or with an error too early: %v", part)
		}
		if size := proto.Size(part); size > cmp.Or(c.most, 5<<18) {
			c.t.Fatalf("a part of %d bytes", size)
		}
		parts = append(parts, proto.CloneOf(part))
		return nil
	})
	if err != nil || len(parts) == 0 || !parts[len(parts)-1].Last {
		c.t.Fatalf("%d parts, %v", len(parts), err)
	}
	return parts, parts[len(parts)-1].Error
}

// must is ask where nothing may be wrong.
func (c *coordinator) must(a *moriensv1.CellsAsk) []*moriensv1.CellsAnswer {
	c.t.Helper()
	parts, problem := c.ask(a)
	if problem != "" {
		c.t.Fatalf("%s", problem)
	}
	return parts
}

// take asks for a survey and puts it to what is known.
func (c *coordinator) take() {
	c.t.Helper()
	for i, part := range c.must(&moriensv1.CellsAsk{Body: &moriensv1.CellsAsk_Survey{Survey: &moriensv1.CellsSurvey{After: c.survey}}}) {
		if s := part.GetSurveyed(); s != nil {
			if s.Whole {
				c.groups, c.units = nil, nil
			}
			if i > 0 && (s.Survey != c.survey || s.Spec != "" || s.Whole || len(s.Example) == 0) {
				c.t.Fatalf("part %d of survey %d: %v", i, c.survey, s)
			}
			if i == 0 && !s.Whole && (s.Spec != c.about.Spec || !slices.Equal(s.Counter, c.about.Counter)) {
				c.t.Fatalf("%v behind %v", s, c.about)
			}
			if i == 0 {
				c.survey, c.about = s.Survey, s
			}
			for i, process := range s.Example {
				c.groups = append(c.groups, c.sites(process, s.BeforePath[i], s.BeforeFunction[i])+"|"+c.sites(process, s.AfterPath[i], s.AfterFunction[i]))
			}
		}
		if u := part.GetUnits(); u != nil {
			c.merge(u, false)
		}
	}
}

// split asks for places. It returns the units of which they are not known.
func (c *coordinator) split(units []uint32) (unknown []uint32) {
	c.t.Helper()
	reported := map[uint32]bool{}
	for _, part := range c.must(&moriensv1.CellsAsk{Body: &moriensv1.CellsAsk_Split{Split: &moriensv1.CellsSplit{Unit: differences(units)}}}) {
		unknown = append(unknown, part.GetUnits().Unknown...)
		for _, parent := range part.GetUnits().Parent {
			reported[parent-1] = true
		}
		c.merge(part.GetUnits(), true)
	}
	for _, unit := range units {
		if reported[unit] == slices.Contains(unknown, unit) {
			c.t.Fatalf("unit %d: reported %v and not known to be", unit, reported[unit])
		}
		if reported[unit] {
			u := c.units[unit]
			c.units[unit] = &coordinatorUnit{group: u.group, key: u.key}
		}
	}
	return unknown
}

// merge adds units to what is known, or, of an answer to a split, replaces that.
func (c *coordinator) merge(u *moriensv1.CellsUnits, replace bool) {
	c.t.Helper()
	at := uint32(0)
	n, dims, counters := len(u.Unit), int(c.about.Dims), len(c.about.Counter)
	if len(u.Group) != n || len(u.Key) != n*dims || len(u.Count) != n || len(u.Read) != n*counters || len(u.Parent) != n && len(u.Parent) != 0 {
		c.t.Fatalf("columns: %d units, %d groups, %d keys, %d counts, %d reads, %d parents", n, len(u.Group), len(u.Key), len(u.Count), len(u.Read), len(u.Parent))
	}
	for i, d := range u.Unit {
		if at += d; i > 0 && d == 0 {
			c.t.Fatalf("unit %d twice", at)
		}
		for len(c.units) <= int(at) {
			c.units = append(c.units, nil)
		}
		x := c.units[at]
		if x == nil || replace {
			x = &coordinatorUnit{squares: new(big.Int), read: make([]uint64, counters)}
			for range counters {
				x.counter, x.square = append(x.counter, new(big.Int)), append(x.square, new(big.Int))
			}
			c.units[at] = x
		}
		x.group, x.key = u.Group[i], u.Key[i*dims:][:dims]
		if len(u.Parent) > 0 {
			x.parent = u.Parent[i]
		}
		x.lo, x.hi, x.sum = u.Lo[i*dims:][:dims], u.Hi[i*dims:][:dims], u.Sum[i*dims:][:dims]
		x.count += u.Count[i]
		x.total += u.TotalNs[i]
		x.squares.Add(x.squares, moment.Big([]uint64{u.SquaresLow[i], u.SquaresMiddle[i], u.SquaresHigh[i]}))
		for k := range counters {
			j := i*counters + k
			x.read[k] += u.Read[j]
			x.counter[k].Add(x.counter[k], moment.Big([]uint64{u.CounterLow[j], u.CounterHigh[j]}))
			x.square[k].Add(x.square[k], moment.Big([]uint64{u.CounterSquaresLow[j], u.CounterSquaresMiddle[j], u.CounterSquaresHigh[j]}))
		}
	}
}

func differences(list []uint32) []uint32 {
	out := slices.Clone(list)
	for i := len(out) - 1; i > 0; i-- {
		out[i] -= out[i-1]
	}
	return out
}

// name is a unit's key as plain has it.
func (c *coordinator) name(unit int) string {
	u := c.units[unit]
	text := ""
	if len(c.groups) > 0 {
		text = c.groups[u.group]
	}
	for _, k := range u.key {
		text += fmt.Sprint(" ", k)
	}
	if u.parent != 0 {
		text += " at" + fmt.Sprint(u.lo)
	}
	return text
}

// siteNames gives the names of sites as plain has them.
func siteNames(messages []*moriensv1.ReportRequest) func(process uint64, path, function uint32) string {
	return func(process uint64, path, function uint32) string {
		if function == 0 && path == 0 {
			return ""
		}
		var text strings.Builder
		fmt.Fprint(&text, function)
		for _, m := range messages {
			if p := m.GetCallPath(); p != nil && p.Process == process && p.Path == path {
				for _, f := range p.Frames {
					fmt.Fprintf(&text, "<%s %x %d", filepath.Base(f.Module), f.BuildId, f.Offset)
				}
				break
			}
		}
		return text.String()
	}
}
