package console

import (
	"slices"
	"strings"
	"testing"

	"moriens/trace"
	"moriens/trace/rundir"
)

// Kinds between the same calls are distinguished by the callers of most of their bursts.
func TestCallersDistinguish(t *testing.T) {
	// A row is its whole call paths before and after, each a caller per letter from the innermost on, with how many of 100
	// bursts have it: "ab 80,ac 20 → x 100". _ has no name, * is folded.
	for name, tt := range map[string]struct{ rows, want []string }{
		"the first caller":                   {[]string{"sm → e", "pm → e"}, []string{"from s", "from p"}},
		"a caller further out":               {[]string{"sam → e", "sbm → e"}, []string{"from a", "from b"}},
		"the call after":                     {[]string{"sm → ae", "sm → be"}, []string{"from a", "from b"}},
		"where another departs further out":  {[]string{"sax → e", "say → e", "pm → e"}, []string{"from s < x", "from s < y", "from p"}},
		"most bursts have it":                {[]string{"sm 80,pm 20 → e", "pm → e"}, []string{"from s", "from p"}},
		"no caller has most":                 {[]string{"sm 60,pm 40 → e", "pm → e"}, []string{"long", "short"}},
		"most have it, of several ways":      {[]string{"sax 50,say 50 → e", "sbx → e"}, []string{"from a", "from b"}},
		"one has no more callers":            {[]string{"sa → e", "s → e"}, []string{"long", "short"}},
		"no difference":                      {[]string{"sam → e", "sam → e", "sam → e"}, []string{"longest", "2nd longest", "shortest"}},
		"two of three alike":                 {[]string{"sam → e", "sam → e", "sbm → e"}, []string{"from a, long", "from a, short", "from b"}},
		"no names, but offsets":              {[]string{"_ → e", "_ → e"}, []string{"from app+0x1", "from app+0x2"}},
		"recursion that is folded elsewhere": {[]string{"r*rx → e", "r*ry → e"}, []string{"from x", "from y"}},
		"recursion against a caller":         {[]string{"r*m → e", "rm → e"}, []string{"long", "short"}},
		"not known":                          {[]string{" → ", " → "}, []string{"long", "short"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Results{Run: &trace.Run{CallPaths: []trace.CallPath{{}}}, Clusters: &rundir.Clusters{}}
			var rows []timeRow
			for i, text := range tt.rows {
				unnamed := uint64(i + 1)
				paths := func(list string) (counts []trace.PathCount) {
					if list == "" {
						return nil
					}
					for text := range strings.SplitSeq(list, ",") {
						callers, share, _ := strings.Cut(text, " ")
						path := trace.CallPath{Function: "MPI_Wait", Frames: []trace.Frame{{Function: "wait", Module: "app", Offset: 7}}}
						for _, c := range callers {
							f := trace.Frame{Function: string(c), Module: "app", Offset: uint64(c)}
							switch c {
							case '_':
								f.Function, f.Offset = "", unnamed
							case '*':
								f = trace.Frame{Function: trace.Folded}
							}
							path.Frames = append(path.Frames, f)
						}
						bursts := 100
						if share != "" {
							bursts = int(share[0]-'0') * 10
						}
						counts = append(counts, trace.PathCount{Path: uint32(len(r.Run.CallPaths)), Bursts: bursts})
						r.Run.CallPaths = append(r.Run.CallPaths, path)
					}
					return counts
				}
				before, after, _ := strings.Cut(text, " → ")
				x := &trace.Cluster{ID: int32(i + 1), MeanNS: float64(100 - i), WholeBefore: paths(before), WholeAfter: paths(after)}
				rows = append(rows, timeRow{cluster: x})
			}
			distinguish(r, rows)
			var got []string
			for i := range rows {
				got = append(got, rows[i].apart)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// A phase of the program distinguishes a kind that has most of its time there; call paths those of most of all bursts,
// not of most of those that are listed.
func TestMostlyOfAll(t *testing.T) {
	const solve, elsewhere = "solve", "assemble"
	part := func(name string, outside bool, seconds ...rundir.Number) rundir.PhaseBursts {
		p := rundir.PhaseBursts{Name: name, Outside: outside}
		for i, s := range seconds {
			p.Clusters = append(p.Clusters, rundir.PhaseCluster{ID: int32(i + 1), Seconds: s})
		}
		return p
	}
	rows := []timeRow{{cluster: &trace.Cluster{ID: 1}}, {cluster: &trace.Cluster{ID: 2}}}
	c := &rundir.Clusters{Phases: []rundir.PhaseBursts{part(solve, false, 8, 1), part(elsewhere, false, 1, 2), part("", true, 1, 7)}}
	if got := phases(c, rows, []int{0, 1}); !slices.Equal(got, []string{"in solve", ""}) {
		t.Errorf("%q", got)
	}
	run := &trace.Run{CallPaths: []trace.CallPath{{}, {Frames: []trace.Frame{{Function: "halo"}, {Function: "solve"}}}}}
	listed := []trace.PathCount{{Path: 1, Bursts: 10}}
	if got := stack(run, listed, 10, byName); !slices.Equal(got, []string{"solve"}) {
		t.Errorf("%q of all bursts", got)
	}
	if got := stack(run, listed, 100, byName); len(got) > 0 {
		t.Errorf("%q of a tenth of the bursts", got)
	}
}
