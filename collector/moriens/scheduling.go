package moriens

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/collector/store"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

const (
	// mostScheduled is how many ranks' figures the manifest has, those that lost most.
	mostScheduled = 1024
	// lostMuch is from which share on, of the time in which a rank could run, its durations are not the program's. docs/overhead.md has what is lost where nothing else runs.
	lostMuch = .1
	// crowdedShare is from which share on, of the time in which all ranks could run, order alone tells kinds.
	crowdedShare = .05
	// lostLeast is how long a rank has to have waited for that, s: programs that start together do on any machine.
	lostLeast = .2
)

// describeScheduling says how the kernel has scheduled the ranks, and in words where that makes their durations something else than the program's; nil and "" where no agent has told.
func describeScheduling(worlds []*world, agents []*store.Agent) (*rundir.Scheduling, string) {
	s := &rundir.Scheduling{Hosts: []rundir.HostScheduling{}, Ranks: []rundir.RankScheduling{}}
	hosts := make(map[*store.Agent]int)
	for _, a := range agents {
		n, told := a.Scheduling()
		if !told {
			continue
		}
		hosts[a] = len(s.Hosts)
		busy, steal := float64(n.BusyNS)/1e9, float64(n.StealNS)/1e9
		s.Hosts = append(s.Hosts, rundir.HostScheduling{
			Host: a.Hello.Host, Cores: cmp.Or(n.Cores, int(a.Hello.Cpus)), RanksAtOnce: n.AtOnce,
			BusySeconds: rundir.Number(busy), StealSeconds: rundir.Number(steal), StealShare: part(steal, busy),
		})
	}
	if len(s.Hosts) == 0 {
		return nil, ""
	}
	for i, w := range worlds {
		for _, p := range w.ranks() {
			x := p.Scheduling
			if x == nil {
				continue
			}
			r := rundir.RankScheduling{
				World: i, Rank: int(p.Info.Rank), Host: p.Info.Host, RunSeconds: rundir.Number(float64(x.RunNS) / 1e9), WaitSeconds: rundir.Number(float64(x.WaitNS) / 1e9),
				LostShare: part(float64(x.WaitNS), float64(x.RunNS)), Voluntary: int64(x.Voluntary), Involuntary: int64(x.Involuntary),
			}
			s.Ranks = append(s.Ranks, r)
			if k, told := hosts[p.Agent]; told {
				h := &s.Hosts[k]
				h.RunSeconds += r.RunSeconds
				h.WaitSeconds += r.WaitSeconds
				h.Voluntary += r.Voluntary
				h.Involuntary += r.Involuntary
			}
		}
	}
	var run, wait rundir.Number
	for k := range s.Hosts {
		h := &s.Hosts[k]
		h.LostShare = part(float64(h.WaitSeconds), float64(h.RunSeconds))
		run, wait = run+h.RunSeconds, wait+h.WaitSeconds
	}
	s.LostShare = part(float64(wait), float64(run))
	text := overcommitted(s)
	s.Overcommitted = text != ""
	if s.MoreRanks = max(0, len(s.Ranks)-mostScheduled); s.MoreRanks > 0 {
		slices.SortStableFunc(s.Ranks, func(a, b rundir.RankScheduling) int { return cmp.Compare(b.WaitSeconds, a.WaitSeconds) })
		s.Ranks = s.Ranks[:mostScheduled]
		slices.SortFunc(s.Ranks, func(a, b rundir.RankScheduling) int {
			return cmp.Or(cmp.Compare(a.World, b.World), cmp.Compare(a.Rank, b.Rank))
		})
	}
	return s, text
}

// crowds says that ranks have lost so much of the time in which they could run that durations with two modes are the scheduler's rather than two computations'.
func crowds(s *rundir.Scheduling) bool { return s != nil && float64(s.LostShare) >= crowdedShare }

// part is what share of both the first is; NaN where there is nothing.
func part(of, rest float64) rundir.Number {
	if of+rest == 0 {
		return rundir.Number(math.NaN())
	}
	return rundir.Number(of / (of + rest))
}

// overcommitted says in one line what the ranks have lost to others; "" where that is little.
func overcommitted(s *rundir.Scheduling) string {
	var causes, details []string
	var run, wait rundir.Number
	var switches int64
	lost := make(map[string]bool) // hosts
	ranks := 0
	for _, r := range s.Ranks {
		if r.LostShare >= lostMuch && r.WaitSeconds >= lostLeast {
			run, wait, switches = run+r.RunSeconds, wait+r.WaitSeconds, switches+r.Involuntary
			lost[r.Host] = true
			ranks++
		}
	}
	if ranks > 0 {
		who := "ranks"
		if ranks < len(s.Ranks) {
			who = fmt.Sprintf("%s of %s ranks", units.Integer(ranks), units.Integer(len(s.Ranks)))
		}
		causes = append(causes, fmt.Sprintf("%s lost %s of the time in which they could run to other processes", who, percent(part(float64(wait), float64(run)))))
	}
	var crowded, stolen, unknown []rundir.HostScheduling
	for _, h := range s.Hosts {
		told := !math.IsNaN(float64(h.LostShare))
		switch more := h.Cores > 0 && h.RanksAtOnce > h.Cores; {
		case more && !told:
			unknown = append(unknown, h)
		case more && lost[h.Host]:
			crowded = append(crowded, h)
		}
		if h.StealShare >= lostMuch && h.StealSeconds >= lostLeast {
			stolen = append(stolen, h)
		}
	}
	atOnce := func(h rundir.HostScheduling) string {
		return fmt.Sprintf("%s at once on %s of %s", units.Integer(h.RanksAtOnce), units.Count(h.Cores, "core"), h.Host)
	}
	if len(unknown) > 0 {
		causes = append(causes, "ranks share cores, and how much they lost is not known")
		details = append(details, most(unknown, func(h rundir.HostScheduling) float64 { return float64(h.RanksAtOnce) / float64(h.Cores) }, atOnce))
	}
	if len(stolen) > 0 {
		causes = append(causes, most(stolen, func(h rundir.HostScheduling) float64 { return float64(h.StealShare) }, func(h rundir.HostScheduling) string {
			return fmt.Sprintf("host %s lost %s of its cores' time to other machines on its hardware", h.Host, percent(h.StealShare))
		}))
	}
	if len(causes) == 0 {
		return ""
	}
	if len(crowded) > 0 {
		details = append(details, most(crowded, func(h rundir.HostScheduling) float64 { return float64(h.RanksAtOnce) / float64(h.Cores) }, atOnce))
	}
	if switches > 0 {
		details = append(details, units.Integer(int(switches))+" involuntary "+units.Plural(int(switches), "switch"))
	}
	text := strings.Join(causes, "; ") + ": durations are not the program's"
	if len(details) > 0 {
		text += " (" + strings.Join(details, "; ") + ")"
	}
	return text
}

// most tells of the host of which there is most, and how many more there are.
func most(list []rundir.HostScheduling, of func(rundir.HostScheduling) float64, say func(rundir.HostScheduling) string) string {
	first := slices.MaxFunc(list, func(a, b rundir.HostScheduling) int { return cmp.Compare(of(a), of(b)) })
	if len(list) == 1 {
		return say(first)
	}
	return fmt.Sprintf("%s, and %s like it", say(first), units.Count(len(list)-1, "host"))
}

func percent(share rundir.Number) string { return fmt.Sprintf("%.0f %%", 100*float64(share)) }
