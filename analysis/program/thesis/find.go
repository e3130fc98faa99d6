package thesis

import (
	"math"
	"strconv"
	"strings"

	"moriens/analysis/program"
	"moriens/internal/team"
)

// counted is what a member sends the others.
type counted struct {
	Sites         []Site
	FirstNS, ToNS int64 // from the end of MPI_Init to the begin of MPI_Finalize, as far as its calls say
}

// Find does all steps for the calls of a run. It is collective; nil = no call has a time.
func Find(in *program.Input) (*program.Published, error) {
	o := Options{Delta: DefaultDelta, Eps: DefaultEps, Threads: max(1, in.Workers)}
	local := Count(threadsOf(in), in.Workers)
	all, err := team.Values(in.Team, local.counted(in.Paths))
	if err != nil {
		return nil, err
	}
	firstNS, toNS := int64(math.MaxInt64), int64(math.MinInt64)
	var sites [][]Site
	for _, m := range all {
		sites = append(sites, m.Sites)
		firstNS, toNS = min(firstNS, m.FirstNS), max(toNS, m.ToNS)
	}
	merged := Merge(sites...)
	if len(merged) == 0 {
		return nil, nil
	}
	o.RunNS = toNS - firstNS
	classes, err := Classify(merged, o)
	if err != nil {
		return nil, err
	}
	nested, err := team.Values(in.Team, local.Nested(classes))
	if err != nil || in.Team.Rank() != 0 { // the first member alone makes the program
		return nil, err
	}
	r := Solve(classes, All(nested...), PathsOf(in))
	r.Program.Ranks = 0
	for _, n := range in.Worlds {
		r.Program.Ranks += n
	}
	return &program.Published{Program: r.Program, Plot: r.Plot}, nil
}

// counted leaves MPI_Init and MPI_Finalize out of the run time: they take most of a short run.
func (l *Local) counted(paths []program.Path) counted {
	c := counted{l.Sites, math.MaxInt64, math.MinInt64}
	for i := range l.threads {
		t := &l.threads[i]
		last := len(t.Path) - 1
		first, to := t.EnterNS[0], t.EnterNS[last]
		if t.ExitNS != nil && strings.HasPrefix(paths[t.Path[0]].MPI, "MPI_Init") {
			first = t.ExitNS[0]
		}
		if t.ExitNS != nil && paths[t.Path[last]].MPI != "MPI_Finalize" {
			to = t.ExitNS[last]
		}
		c.FirstNS, c.ToNS = min(c.FirstNS, first), max(c.ToNS, to)
	}
	return c
}

// threadsOf are the threads of which this member has the calls. Ranks are numbered as those of programs.
func threadsOf(in *program.Input) (list []Thread) {
	first := []int{0}
	for _, n := range in.Worlds {
		first = append(first, first[len(first)-1]+n)
	}
	for i := range in.Threads {
		t := &in.Threads[i]
		if c := &t.Calls; in.Team.Mine(i) && len(c.Path) > 0 && c.EnterNS != nil {
			list = append(list, Thread{Rank: int32(first[t.World] + t.Rank), Thread: int32(t.Thread), Path: c.Path, EnterNS: c.EnterNS, ExitNS: c.ExitNS, Count: c.Count})
		}
	}
	return list
}

// PathsOf are the call paths of a run: a frame is a line of a function and what is called there. Inlined functions are
// frames too.
func PathsOf(in *program.Input) (p Paths) {
	type place struct {
		caller int
		inside string // inlined functions round it
		offset uint64 // where there is no line
		frame  Frame
	}
	at := make(map[place]int32)
	for i := range in.Paths {
		var frames []int32
		add := func(x place) {
			if x.frame.Line > 0 {
				x.offset = 0
			}
			n, known := at[x]
			if !known {
				n = int32(len(p.Frames))
				at[x] = n
				p.Frames = append(p.Frames, x.frame)
			}
			frames = append(frames, n)
		}
		steps := in.Paths[i].Steps
		for k := range steps {
			s := &steps[k]
			x := place{caller: s.Function}
			for _, inlined := range s.Scopes {
				x.frame = Frame{inlined.Function, inlined.CallFile, inlined.CallLine}
				add(x)
				x.inside += inlined.Function + "\x00" + inlined.CallFile + "\x00" + strconv.Itoa(inlined.CallLine) + "\x00"
			}
			called := in.Paths[i].MPI
			if k+1 < len(steps) {
				called = in.Functions[steps[k+1].Function].Name
			}
			x.offset, x.frame = s.Offset, Frame{called, s.File, s.Line}
			add(x)
		}
		if len(steps) == 0 && in.Paths[i].MPI != "" {
			add(place{caller: -1, frame: Frame{Function: in.Paths[i].MPI}})
		}
		p.Paths = append(p.Paths, frames)
	}
	for i := range p.Frames {
		if p.Frames[i].Function == "" {
			p.Frames[i].Function = unknownFunction
		}
	}
	return p
}

const unknownFunction = "?"
