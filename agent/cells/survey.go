package cells

import (
	"slices"

	"moriens/analysis/moment"
	moriensv1 "moriens/proto/moriens/v1"
)

// partBytes is about how large a part of an answer is at most: smaller in tests alone.
var partBytes = 1 << 20

// surveyed is what the collector knows by the latest survey.
type surveyed struct {
	before, latest   uint64 // surveys: those of numbers above before, up to latest, were made here
	spec             string // by the latest: a survey by another one, or of other counters, reports everything
	groups, counters int
}

// made reports whether unit numbers from a survey are ours.
func (t *surveyed) made(survey uint64) bool { return survey > t.before && survey <= t.latest }

// survey answers with what has arrived since a survey.
func (k *Store) survey(ask *moriensv1.CellsSurvey, to *reply) error {
	k.mu.Lock()
	whole := ask.After != k.surveyed.latest || !k.surveyed.made(ask.After) || k.uncertain || k.spec() != k.surveyed.spec || len(k.counters) != k.surveyed.counters
	k.uncertain = false
	if whole {
		k.surveyed.groups = 0
	}
	s := k.describe(whole)
	var list []uint32
	for unit := range uint32(k.units.len()) {
		if whole || k.units.durations(unit).N != k.units.reported[int(unit)*k.units.stride].N {
			list = append(list, unit)
		}
	}
	k.surveyed.latest++
	s.Survey = k.surveyed.latest
	parts := k.unitParts(list, whole)
	k.surveyed.spec, k.surveyed.groups, k.surveyed.counters = s.Spec, len(k.groups.list), len(k.counters)
	k.mu.Unlock()
	for _, part := range surveyParts(s) {
		if err := to.send(&moriensv1.CellsAnswer{Body: &moriensv1.CellsAnswer_Surveyed{Surveyed: part}}); err != nil {
			return err
		}
	}
	return to.units(parts)
}

// surveyParts is what a survey says of the node as a whole, in parts where there are many groups.
func surveyParts(s *moriensv1.CellsSurveyed) []*moriensv1.CellsSurveyed {
	const each = 3*8 + 4*5 // bytes of a group's columns
	perPart := max(1, partBytes/each)
	parts := []*moriensv1.CellsSurveyed{s}
	for groups := len(s.Before); groups > perPart; groups -= perPart {
		rest := &moriensv1.CellsSurveyed{Survey: s.Survey}
		last := parts[len(parts)-1]
		last.Before, rest.Before = last.Before[:perPart], last.Before[perPart:]
		last.After, rest.After = last.After[:perPart], last.After[perPart:]
		last.Example, rest.Example = last.Example[:perPart], last.Example[perPart:]
		last.BeforePath, rest.BeforePath = last.BeforePath[:perPart], last.BeforePath[perPart:]
		last.AfterPath, rest.AfterPath = last.AfterPath[:perPart], last.AfterPath[perPart:]
		last.BeforeFunction, rest.BeforeFunction = last.BeforeFunction[:perPart], last.BeforeFunction[perPart:]
		last.AfterFunction, rest.AfterFunction = last.AfterFunction[:perPart], last.AfterFunction[perPart:]
		parts = append(parts, rest)
	}
	return parts
}

// describe describes the node as a whole.
func (k *Store) describe(whole bool) *moriensv1.CellsSurveyed {
	t := &k.tally
	s := &moriensv1.CellsSurveyed{
		Whole: whole, Spec: k.spec(), Dims: uint32(len(k.dims)), Side: k.side, Dimensions: specOf(k.dims), Counter: slices.Clone(k.counters),
		Bursts: t.bursts, TimeNs: t.total.Total[0], Missing: t.missing, MissingNs: t.missingNS.Total[0], Short: t.short, ShortNs: t.shortNS.Total[0],
		Lost: t.lost, Outside: t.outside, HeldBytes: uint64(k.bytes()),
	}
	for _, g := range k.groups.list[k.surveyed.groups:] {
		before, after := g.process.sites[g.pair.before], g.process.sites[g.pair.after]
		s.Before, s.After, s.Example = append(s.Before, g.before), append(s.After, g.after), append(s.Example, g.process.id)
		s.BeforePath, s.AfterPath = append(s.BeforePath, before.Path), append(s.AfterPath, after.Path)
		s.BeforeFunction, s.AfterFunction = append(s.BeforeFunction, uint32(before.Function)), append(s.AfterFunction, uint32(after.Function))
	}
	for _, p := range k.order {
		threads, anchored := uint32(0), uint32(0)
		for _, r := range p.rings {
			if r.bursts > 0 {
				threads++
				if len(r.anchors.rows) > 0 {
					anchored++
				}
			}
		}
		if threads > 0 {
			s.Process, s.Threads, s.Anchored = append(s.Process, p.id), append(s.Threads, threads), append(s.Anchored, anchored)
		}
	}
	return s
}

// unitParts reports units, ascending: all of them, or those added since the last report. From then on all count as
// reported.
func (k *Store) unitParts(list []uint32, whole bool) []*moriensv1.CellsUnits {
	const most = 3*5 + 4*10 + 10 // bytes of a unit's columns that are there once
	perPart := max(1, partBytes/(most+(3*8+5)*k.units.dims+50*k.units.stride))
	var parts []*moriensv1.CellsUnits
	for len(list) > 0 {
		n := min(perPart, len(list))
		parts = append(parts, k.unitPart(list[:n], whole))
		list = list[n:]
	}
	return parts
}

func (k *Store) unitPart(list []uint32, whole bool) *moriensv1.CellsUnits {
	u := &k.units
	p := new(moriensv1.CellsUnits)
	last := uint32(0)
	places := false
	for _, unit := range list {
		p.Unit, p.Group = append(p.Unit, unit-last), append(p.Group, u.group[unit])
		last = unit
		for _, at := range u.keyOf(unit) {
			p.Key = append(p.Key, int64(at))
		}
		p.Parent = append(p.Parent, u.parent[unit])
		places = places || u.parent[unit] != 0
		first := int(unit) * u.dims
		p.Lo, p.Hi = append(p.Lo, u.lo[first:][:u.dims]...), append(p.Hi, u.hi[first:][:u.dims]...)
		for j := range u.dims {
			p.Sum = append(p.Sum, u.sumOf(unit, j))
		}
		now, then := u.moments[int(unit)*u.stride:][:u.stride], u.reported[int(unit)*u.stride:][:u.stride]
		if whole {
			clear(then)
		}
		addDurations(p, since(now[0], then[0]))
		for i := 1; i < u.stride; i++ {
			addCounter(p, since(now[i], then[i]))
		}
		copy(then, now)
	}
	if !places {
		p.Parent = nil
	}
	return p
}

// sumOf is the sum of one coordinate of a unit's bursts.
func (u *units) sumOf(unit uint32, dim int) float64 {
	at := int(unit)*u.dims + dim
	if u.parent[unit] != 0 {
		return u.lo[at] * float64(u.durations(unit).N) // as in cell.Of
	}
	return u.sum[at]
}

func addDurations(p *moriensv1.CellsUnits, e moment.Exact) {
	p.Count, p.TotalNs = append(p.Count, uint64(e.N)), append(p.TotalNs, e.Total[0])
	p.SquaresLow, p.SquaresMiddle = append(p.SquaresLow, e.Squares[0]), append(p.SquaresMiddle, e.Squares[1])
	p.SquaresHigh = append(p.SquaresHigh, e.Squares[2])
}

func addCounter(p *moriensv1.CellsUnits, e moment.Exact) {
	p.Read, p.CounterLow, p.CounterHigh = append(p.Read, uint64(e.N)), append(p.CounterLow, e.Total[0]), append(p.CounterHigh, e.Total[1])
	p.CounterSquaresLow, p.CounterSquaresMiddle = append(p.CounterSquaresLow, e.Squares[0]), append(p.CounterSquaresMiddle, e.Squares[1])
	p.CounterSquaresHigh = append(p.CounterSquaresHigh, e.Squares[2])
}
