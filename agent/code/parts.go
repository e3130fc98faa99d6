package code

import (
	"cmp"
	"debug/elf"
	"maps"
	"slices"
	"strings"
)

// findParts finds what spans are parts of functions that lie apart: of the functions of these spans, and those that
// these are. Compilers move what is rarely executed, as `name.cold`; where there is no symbol, a span that nothing
// calls, and to which one other alone jumps, is a part of that.
func (r *reader) findParts(spans map[uint64]span) {
	suspects, found := make(map[uint64]span), make(map[uint64]bool)
	suspect := func(s span) {
		if s.name == "" || coldOf(s.name) != "" {
			suspects[s.start] = s
		}
	}
	asked := make(map[uint64]bool)
	ask := func(s span) {
		asked[s.start] = true
		suspect(s)
		r.jumps(r.text(s), suspect)
	}
	for _, s := range spans {
		ask(s)
	}
	// One more time: a part that holds a call brings the function of which it is, and the other parts of that.
	for range 2 {
		owners := r.ownersOf(suspects)
		more := false
		for start, owner := range owners {
			if _, known := r.owner[start]; !known {
				found[start] = true
			}
			r.owner[start] = owner.start
			if !asked[owner.start] {
				more = true
				ask(owner)
			}
		}
		if !more {
			break
		}
	}
	for _, start := range slices.Sorted(maps.Keys(found)) {
		if entry := r.entry(start); entry != start {
			r.parts[entry] = append(r.parts[entry], r.text(suspects[start]))
		}
	}
}

// jumps calls f for each other span to which a text jumps, or where exceptions of its calls continue.
func (r *reader) jumps(t *text, f func(span)) {
	seen := uint64(0)
	for i := range t.events {
		e := &t.events[i]
		if e.flow != flowJump && e.flow != flowBranch || t.holds(e.target) || e.target == seen {
			continue
		}
		seen = e.target
		if s, ok := r.image.at(e.target); ok {
			f(s)
		}
	}
	pads, _ := r.image.padsOf(r.image.frameAt(t.start))
	for _, p := range pads {
		if s, ok := r.image.at(p.at); ok && s.start != t.start {
			f(s)
		}
	}
}

// coldOf is the name of the function of whose cold part a name is; empty: of none.
func coldOf(name string) string {
	if at := strings.Index(name, ".cold"); at > 0 {
		return name[:at]
	}
	return ""
}

// ownersOf finds the function of each span that is a part of one. All machine code of the module is searched for jumps
// and calls to them.
func (r *reader) ownersOf(suspects map[uint64]span) map[uint64]span {
	list := slices.SortedFunc(maps.Values(suspects), func(a, b span) int { return cmp.Compare(a.start, b.start) })
	if len(list) == 0 {
		return nil
	}
	called := make([]bool, len(list))
	owners := make([]map[uint64]span, len(list))
	near := newNear(list)
	for _, p := range r.image.loads {
		if p.Flags&elf.PF_X == 0 || r.ctx.Err() != nil {
			continue
		}
		r.scan(p, near, func(at, target uint64, how flow) {
			i, exact := slices.BinarySearchFunc(list, target, func(s span, pc uint64) int { return cmp.Compare(s.start, pc) })
			if !exact {
				i--
			}
			if i < 0 || !list[i].holds(target) || list[i].holds(at) {
				return
			}
			from, ok := r.image.at(at)
			if how != flowJump || !ok {
				called[i] = called[i] || target == list[i].start || how == flowCall && (!ok || r.calls(from, at))
				return
			}
			if owners[i] == nil {
				owners[i] = make(map[uint64]span)
			}
			owners[i][from.start] = from
		})
	}
	if slices.ContainsFunc(owners, func(of map[uint64]span) bool { return of == nil }) {
		r.byExceptions(list, owners)
	}
	found := make(map[uint64]span)
	for i, s := range list {
		base := coldOf(s.name)
		if base == "" && called[i] {
			continue
		}
		var of []span
		for _, o := range owners[i] {
			if base == "" || o.name == base {
				of = append(of, o)
			}
		}
		if len(of) > 1 {
			of = slices.DeleteFunc(of, func(o span) bool { return !r.leads(o, s) })
		}
		if len(of) == 1 && coldOf(of[0].name) == "" {
			found[s.start] = of[0]
		}
	}
	return found
}

// byExceptions adds the functions of whose calls exceptions continue in a span to which nothing jumps.
func (r *reader) byExceptions(list []span, owners []map[uint64]span) {
	for i := range r.image.frames {
		f := &r.image.frames[i]
		if f.pads == 0 {
			continue
		}
		if r.ctx.Err() != nil {
			return
		}
		pads, _ := r.image.padsOf(f)
		for _, p := range pads {
			at, exact := slices.BinarySearchFunc(list, p.at, func(s span, pc uint64) int { return cmp.Compare(s.start, pc) })
			if !exact {
				at--
			}
			if at < 0 || !list[at].holds(p.at) || list[at].holds(f.start) || len(owners[at]) > 1 {
				continue
			}
			if from, ok := r.image.at(f.start); ok {
				if owners[at] == nil {
					owners[at] = make(map[uint64]span)
				}
				owners[at][from.start] = from
			}
		}
	}
}

// calls reports whether a span has a call at an address, not only bytes like one.
func (r *reader) calls(from span, at uint64) bool {
	t := r.text(from)
	return t.fault != "" || slices.ContainsFunc(t.events, func(e event) bool { return e.flow == flowCall && from.start+uint64(e.at) == at })
}

// leads reports whether a span has an instruction that jumps to another, not only bytes like one.
func (r *reader) leads(from, to span) bool {
	t := r.text(from)
	if t.fault != "" {
		return true
	}
	pads, _ := r.image.padsOf(r.image.frameAt(from.start))
	return slices.ContainsFunc(pads, func(p pad) bool { return to.holds(p.at) }) || slices.ContainsFunc(t.events, func(e event) bool {
		return (e.flow == flowJump || e.flow == flowBranch) && to.holds(e.target)
	})
}

// A near says quickly that an address is in none of some spans.
type near struct{ bits bitmap }

const nearBits = 1 << 18

func newNear(spans []span) near {
	n := near{newBitmap(nearBits)}
	for _, s := range spans {
		for page := s.start >> 6; page <= (s.end-1)>>6 && page-s.start>>6 < nearBits; page++ {
			n.bits.set(int(page % nearBits))
		}
	}
	return n
}

func (n near) perhaps(addr uint64) bool { return n.bits.has(int(addr >> 6 % nearBits)) }

// scan calls f for what in a segment names an address that is perhaps in one of the spans.
func (r *reader) scan(p *elf.Prog, near near, f func(at, target uint64, how flow)) {
	const chunk, overlap = 1 << 20, 16
	for at := uint64(0); at < p.Filesz && r.ctx.Err() == nil; at += chunk {
		begin := at - min(at, overlap)
		data := r.image.read(p.Vaddr+begin, at-begin+chunk)
		r.image.decode.references(data, p.Vaddr+begin, func(place, target uint64, how flow) {
			if near.perhaps(target) {
				f(place, target, how)
			}
		})
		if uint64(len(data)) < at-begin+chunk {
			return
		}
	}
}
