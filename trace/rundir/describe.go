package rundir

import (
	"regexp"
	"strings"

	"moriens/trace"
)

func seconds(ns int64) Number { return Number(float64(ns) / 1e9) }

func share(partNS, wholeNS int64) Number {
	if wholeNS == 0 {
		return 0
	}
	return Number(float64(partNS) / float64(wholeNS))
}

func describeWorlds(run *trace.Run) []World {
	type rank struct {
		beginNS, endNS int64
		seen           bool
	}
	ranks := make([][]rank, len(run.Worlds))
	for i, w := range run.Worlds {
		ranks[i] = make([]rank, w.Size)
	}
	for i := range run.Threads {
		t := &run.Threads[i]
		if t.Rank >= len(ranks[t.World]) {
			continue
		}
		r := &ranks[t.World][t.Rank]
		if !r.seen {
			*r = rank{t.BeginNS, t.EndNS, true}
			continue
		}
		r.beginNS = min(r.beginNS, t.BeginNS)
		r.endNS = max(r.endNS, t.EndNS)
	}
	worlds := make([]World, len(run.Worlds))
	for i, w := range run.Worlds {
		d := World{Executable: w.Executable, MPI: ParseMPILibrary(w.MPILibrary), Size: w.Size, MissingRanks: []int{}}
		for r, x := range ranks[i] {
			if !x.seen {
				d.MissingRanks = append(d.MissingRanks, r)
				continue
			}
			d.RanksRecorded++
			d.Seconds = max(d.Seconds, seconds(x.endNS-x.beginNS))
		}
		worlds[i] = d
	}
	return worlds
}

func describeHosts(run *trace.Run) []Host {
	hosts := make([]Host, len(run.Nodes))
	for i, n := range run.Nodes {
		hosts[i] = Host{Name: n.Name, CPUs: n.CPUs}
	}
	type rank struct{ world, rank int }
	seen := make(map[rank]bool)
	for i := range run.Threads {
		t := &run.Threads[i]
		if r := (rank{t.World, t.Rank}); !seen[r] && t.Node < len(hosts) {
			seen[r] = true
			hosts[t.Node].Ranks++
		}
	}
	return hosts
}

func countCalls(run *trace.Run, f *figures) map[string]int64 {
	byName := make(map[string]int64)
	for p, n := range f.Calls {
		if n > 0 {
			name := run.CallPaths[p].Function
			if name == "" {
				name = "unknown"
			}
			byName[name] += n
		}
	}
	return byName
}

// plainVersion is what MPI.String puts behind a library's name.
var plainVersion = regexp.MustCompile(`^\d[\w.]*$`)

// The texts of MPI_Get_library_version of the implementations in use.
var mpiLibraries = []struct {
	name string
	re   *regexp.Regexp
}{
	{"Open MPI", regexp.MustCompile(`(?i)^Open MPI v([\w.]+)`)},
	{"Intel MPI", regexp.MustCompile(`(?i)Intel\(R\) MPI Library (\d[\w.]*)`)},
	{"MVAPICH", regexp.MustCompile(`(?i)MVAPICH\d?\s+Version\s*:\s*([\w.]+)`)},
	{"Cray MPICH", regexp.MustCompile(`(?i)CRAY MPICH version ([\w.]+)`)},
	{"MPICH", regexp.MustCompile(`(?i)MPICH Version\s*:\s*([\w.]+)`)},
}

// ParseMPILibrary takes apart what MPI_Get_library_version returns, or MPI.String. An unknown text is the library's
// name up to its first line's end, without a version.
func ParseMPILibrary(text string) MPI {
	for _, l := range mpiLibraries {
		if version, ok := strings.CutPrefix(text, l.name+" "); ok && plainVersion.MatchString(version) {
			return MPI{Library: l.name, Version: version}
		}
	}
	for _, l := range mpiLibraries {
		if m := l.re.FindStringSubmatch(text); m != nil {
			return MPI{Library: l.name, Version: m[1]}
		}
	}
	line, _, _ := strings.Cut(text, "\n")
	return MPI{Library: strings.TrimSpace(line)}
}
