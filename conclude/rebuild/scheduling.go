package rebuild

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

// mostScheduled is how many ranks' figures the manifest has, those that lost most.
const mostScheduled = 1024

// Scheduling says how the kernel has scheduled the ranks, and warns where that makes their durations something else
// than the program's; nil where no agent has figures.
func Scheduling(worlds []*World, agents []*store.Agent) *rundir.Scheduling {
	s := &rundir.Scheduling{Hosts: []rundir.HostScheduling{}, Ranks: []rundir.RankScheduling{}}
	hosts := make(map[*store.Agent]int)
	for _, a := range agents {
		n, known := a.Scheduling()
		if !known {
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
		return nil
	}
	for i, w := range worlds {
		for _, p := range w.Ranks() {
			x := p.Scheduling
			if x == nil {
				continue
			}
			r := rundir.RankScheduling{
				World: i, Rank: int(p.Info.Rank), Host: p.Info.Host, RunSeconds: rundir.Number(float64(x.RunNS) / 1e9), WaitSeconds: rundir.Number(float64(x.WaitNS) / 1e9),
				LostShare: part(float64(x.WaitNS), float64(x.RunNS)), Voluntary: int64(x.Voluntary), Involuntary: int64(x.Involuntary),
			}
			s.Ranks = append(s.Ranks, r)
			if k, known := hosts[p.Agent]; known {
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
	s.Warning = overcommitted(s)
	s.Overcommitted = s.Warning != ""
	if s.MoreRanks = max(0, len(s.Ranks)-mostScheduled); s.MoreRanks > 0 {
		slices.SortStableFunc(s.Ranks, func(a, b rundir.RankScheduling) int { return cmp.Compare(b.WaitSeconds, a.WaitSeconds) })
		s.Ranks = s.Ranks[:mostScheduled]
		slices.SortFunc(s.Ranks, func(a, b rundir.RankScheduling) int {
			return cmp.Or(cmp.Compare(a.World, b.World), cmp.Compare(a.Rank, b.Rank))
		})
	}
	return s
}

// Crowded reports whether durations with two modes may be the scheduler's rather than two computations': ranks have
// lost much of the time in which they could run, or that is not known and they share cores, or others had much of a
// host's hardware.
func Crowded(s *rundir.Scheduling) bool {
	return s != nil && (float64(s.LostShare) >= rundir.LostMuch || slices.ContainsFunc(s.Hosts, func(h rundir.HostScheduling) bool {
		return h.Stolen() || h.Shared() && math.IsNaN(float64(h.LostShare))
	}))
}

// part is what share of both the first is; NaN where there is nothing.
func part(of, rest float64) rundir.Number {
	if of+rest == 0 {
		return rundir.Number(math.NaN())
	}
	return rundir.Number(of / (of + rest))
}

// overcommitted says in one line that ranks share cores, with whom, and what that has cost them; "" where they do not
// and lost next to nothing.
func overcommitted(s *rundir.Scheduling) string {
	var crowded, robbed []rundir.HostScheduling
	for _, h := range s.Hosts {
		if h.Shared() {
			crowded = append(crowded, h)
		}
		if h.Stolen() {
			robbed = append(robbed, h)
		}
	}
	var run, wait rundir.Number
	var switches int64
	beside, known := 0, false // ranks beside others that are none, and whether it is known what was lost
	for _, r := range s.Ranks {
		at := slices.ContainsFunc(crowded, func(h rundir.HostScheduling) bool { return h.Host == r.Host })
		if !at && (r.LostShare < rundir.LostMuch || r.WaitSeconds < rundir.LostLeast) {
			continue
		}
		if !at {
			beside++
		}
		run, wait, switches = run+r.RunSeconds, wait+r.WaitSeconds, switches+r.Involuntary
		known = known || !math.IsNaN(float64(r.LostShare))
	}
	var who, causes []string
	if len(crowded) > 0 {
		who = append(who, most(crowded, func(h rundir.HostScheduling) float64 { return float64(h.RanksAtOnce) / float64(h.Cores) }, func(h rundir.HostScheduling) string {
			text := fmt.Sprintf("%s ranks share %s", units.Integer(h.RanksAtOnce), units.Count(h.Cores, "core"))
			if len(s.Hosts) > 1 {
				text += " of " + h.Host
			}
			return text
		}))
	}
	if beside > 0 {
		some, share := "ranks", "share their cores"
		if beside < len(s.Ranks) {
			some = fmt.Sprintf("%s of %s ranks", units.Integer(beside), units.Integer(len(s.Ranks)))
		} else if beside == 1 {
			some = "the rank"
		}
		if beside == 1 {
			share = "shares its core"
		}
		who = append(who, some+" "+share+" with other processes")
	}
	if len(who) > 0 {
		causes = append(causes, strings.Join(who, ", and ")+": "+offTheCore(run, wait, switches, known))
	}
	if len(robbed) > 0 {
		causes = append(causes, most(robbed, func(h rundir.HostScheduling) float64 { return float64(h.StealShare) }, func(h rundir.HostScheduling) string {
			return fmt.Sprintf("host %s lost %s of its cores' time to other virtual machines", h.Host, percent(h.StealShare))
		}))
	}
	if len(causes) == 0 {
		return ""
	}
	return strings.Join(causes, "; ") + "; medians, spreads, waiting times and kinds with few bursts are unreliable; order and number of calls, bytes and iterations are correct"
}

// offTheCore says how much of the time in which ranks could run they did not.
func offTheCore(run, wait rundir.Number, switches int64, known bool) string {
	if !known {
		return "time off the core is not known"
	}
	text := percent(part(float64(wait), float64(run))) + " of runnable time off the core"
	if switches > 0 {
		text += fmt.Sprintf(" (%s involuntary %s)", units.Integer(int(switches)), units.Plural(int(switches), "switch"))
	}
	return text
}

// most names the host with the most, and how many more there are.
func most(list []rundir.HostScheduling, of func(rundir.HostScheduling) float64, say func(rundir.HostScheduling) string) string {
	first := slices.MaxFunc(list, func(a, b rundir.HostScheduling) int { return cmp.Compare(of(a), of(b)) })
	if len(list) == 1 {
		return say(first)
	}
	return fmt.Sprintf("%s (and %s like it)", say(first), units.Count(len(list)-1, "host"))
}

func percent(share rundir.Number) string { return fmt.Sprintf("%.0f %%", 100*float64(share)) }
