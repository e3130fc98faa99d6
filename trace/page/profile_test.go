package page_test

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"moriens/internal/hint"
	"moriens/trace"
	"moriens/trace/page"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// nested is a profile of three ranks in two classes: the program, a phase "so/lve", "it" in it and "it" by itself. main
// calls solve, which calls MPI.
func nested() page.Source {
	frame := func(function, file string, line int) trace.Frame {
		return trace.Frame{Module: "app", Offset: 1, Function: function, File: file, Line: line}
	}
	paths := []trace.CallPath{
		{},
		{Function: "MPI_Send", Frames: []trace.Frame{frame("solve", "/s/a.c", 7), frame("main", "/s/m.c", 3)}},
		{Function: "MPI_Wait", Frames: []trace.Frame{{Module: "app", Offset: 2, Function: "halo", File: "/s/h.h", Line: 9, Inlined: []trace.Scope{{Function: "main", File: "/s/m.c", Line: 4}}}}},
	}
	run := &trace.Run{
		DurationNS: 1000, CallPaths: paths, PathNames: []string{"?", "MPI_Send@a.c:7", "MPI_Wait@h.h:9"}, MarkNames: []string{"so/lve", "it"},
		Threads: []trace.Thread{{Rank: 0}, {Rank: 1}, {Rank: 2}},
	}
	for i := range run.Threads {
		at := int64(i)
		run.Threads[i].Phases = []trace.Phase{
			{Name: 0, BeginNS: 100 + at, EndNS: 200}, {Name: 1, Depth: 1, BeginNS: 110, EndNS: 120 + at}, {Name: 1, Depth: 1, BeginNS: 130 - at, EndNS: 140},
			{Name: 0, BeginNS: 300, EndNS: 400 + at}, {Name: 0, Depth: 1, BeginNS: 310, EndNS: 320}, {Name: 1, Depth: 2, BeginNS: 311, EndNS: 312},
		}
	}
	p := &parquet.Profile{Format: 2}
	solve, it := trace.PhasePath("so/lve"), trace.PhasePath("so/lve", "it")
	for rank := range int32(3) {
		add := func(r parquet.ProfileRow) {
			r.Rank, r.InPhase, r.Iterations = rank, r.Phase != "", -1
			p.Rows = append(p.Rows, r)
		}
		extra := int64(rank * rank)
		add(parquet.ProfileRow{Kind: parquet.ProfilePhase, Count: 1, Records: 1, TimeNS: 1000 + 4*extra, ExclusiveNS: 600 + extra})
		add(parquet.ProfileRow{Kind: parquet.ProfilePhase, Phase: solve, Count: 3, Records: 2, TimeNS: 400 + 3*extra, ExclusiveNS: 100 + 2*extra})
		add(parquet.ProfileRow{Kind: parquet.ProfilePhase, Phase: it, Count: 3, Records: 3, TimeNS: 300 + extra, ExclusiveNS: 300 + extra})
		add(parquet.ProfileRow{Kind: parquet.ProfileComputation, CallPath: "MPI_Send@a.c:7", Context: 1, Cluster: 1, Count: 4, Records: 4, TimeNS: 500 + extra})
		add(parquet.ProfileRow{Kind: parquet.ProfileUnrecorded, Context: -1, Count: 1, Records: 1, TimeNS: 100})
		add(parquet.ProfileRow{Kind: parquet.ProfileComputation, CallPath: "MPI_Wait@h.h:9", Context: -1, Cluster: 2, Phase: solve, Count: 2, Records: 2, TimeNS: 40})
		add(parquet.ProfileRow{Kind: parquet.ProfileMPI, CallPath: "MPI_Send@a.c:7", Phase: solve, Count: 5, Records: 5, TimeNS: 60 + 2*extra})
		add(parquet.ProfileRow{Kind: parquet.ProfileMPI, CallPath: "MPI_Wait@h.h:9", Phase: it, Count: 6, Records: 6, TimeNS: 300 + extra})
	}
	return page.Source{
		Detail: run, Rows: run, Profile: p,
		Manifest: &rundir.Manifest{Kept: rundir.Kept{Classes: []rundir.Class{{Size: 2, Threads: [][2]int{{0, 1}}}, {Size: 1, Threads: [][2]int{{2, 2}}}}}},
	}
}

// A framed is a tree of a page, by the names of frames from the root's on.
type framed map[string]map[string]float64

func framesOf(s shown, tree string) framed {
	types := []string{"program", "phase", "iterations", "function", "mpi", "cluster", "paused", "unrecorded", "others"}
	of, texts := make(framed), []string{}
	column := func(name string) []float64 { return s.Floats["profile."+tree+"."+name] }
	for i, parent := range column("parent") {
		text := types[int(column("type")[i])]
		if name := column("name")[i]; name >= 0 {
			text = s.Document.Profile.Names[int(name)]
		} else if text == "cluster" {
			text += fmt.Sprint(column("cluster")[i])
		}
		if place := column("place")[i]; place >= 0 {
			text += "@" + s.Document.Profile.Names[int(place)]
		}
		if parent >= 0 {
			text = texts[int(parent)] + ">" + text
		}
		texts = append(texts, text)
		of[text] = make(map[string]float64)
		for _, name := range []string{"ns", "calls", "most", "whose", "threads", "class.0", "class.1"} {
			if all := column(name); all != nil {
				of[text][name] = all[i]
			}
		}
	}
	return of
}

func TestProfile(t *testing.T) {
	source := nested()
	s := written(t, source, page.LimitsOf(page.Report))
	d := s.Document.Profile
	if !d.Phases || !d.Paths || d.Format != 2 || d.LeftOut != "" {
		t.Errorf("it says %+v", d)
	}
	// The times of phases are those of the file's rows of phases, which the page does not add.
	byPath := framesOf(s, "phase")
	for text, path := range map[string]string{"program": "", "program>so/lve": trace.PhasePath("so/lve"), "program>so/lve>it": trace.PhasePath("so/lve", "it")} {
		var ns, most, calls int64
		for _, r := range source.Profile.Rows {
			if r.Kind == parquet.ProfilePhase && r.Phase == path {
				ns, most, calls = ns+r.TimeNS, max(most, r.TimeNS), calls+r.Records
			}
		}
		got := byPath[text]
		if got["ns"] != float64(ns) || got["most"] != float64(most) || got["calls"] != float64(calls) || got["whose"] != 2 || got["threads"] != 3 {
			t.Errorf("%s has %v, want %d ns, %d at most, %d calls", text, got, ns, most, calls)
		}
		if got["class.0"]+got["class.1"] != got["ns"] || got["class.1"] != float64(most) {
			t.Errorf("%s: classes have %v and %v", text, got["class.0"], got["class.1"])
		}
	}
	if len(byPath) != 8 || byPath["program>so/lve>MPI_Send"]["calls"] != 15 || byPath["program>unrecorded"]["most"] != 100 || byPath["program>unrecorded"]["whose"] != 0 {
		t.Errorf("the tree of phases is %v", byPath)
	}
	calls := framesOf(s, "path")
	for text, ns := range map[string]float64{
		"program": 3020, "program>main": 1505 + 190 + 905, "program>main>cluster1": 1505, "program>main>solve>MPI_Send@a.c:7": 190, "program>main>halo": 905, "program>cluster2": 120,
	} {
		if calls[text]["ns"] != ns {
			t.Errorf("%s has %v ns, want %v, of %v", text, calls[text]["ns"], ns, calls)
		}
	}
	if !math.IsNaN(calls["program>main"]["calls"]) {
		t.Errorf("main was called %v times, which is not known", calls["program>main"]["calls"])
	}
	// Bars add up to the frames without those in them.
	var bars float64
	for i, ns := range s.Floats["profile.bar.ns"] {
		bars += ns
		if s.Floats["profile.bar.group"][i] > 2 {
			t.Errorf("bar of group %v", s.Floats["profile.bar.group"][i])
		}
	}
	if bars != byPath["program"]["ns"] {
		t.Errorf("bars are %v ns, the program %v", bars, byPath["program"]["ns"])
	}
}

// TestProfileLimited has room for some frames and bars: the sums remain, and the page says what is together.
func TestProfileLimited(t *testing.T) {
	source := nested()
	l := page.LimitsOf(page.Report)
	l.Frames, l.Bars = 5, 8
	s := written(t, source, l)
	d := s.Document.Profile
	if got := framesOf(s, "phase"); len(got) != 7 || got["program"]["ns"] != 3020 || got["program>others"]["ns"]+got["program>so/lve>others"]["ns"] != 300+120+190 {
		t.Errorf("of phases there are %v", got)
	}
	if !strings.Contains(d.LeftOut, "By phase, the 4 frames with the least time are shown together, as others. By call path, the 5 frames") || !strings.Contains(d.LeftOut, "Bars are sums of 2 threads each.") {
		t.Errorf("it says %q", d.LeftOut)
	}
	var bars float64
	for _, ns := range s.Floats["profile.bar.ns"] {
		bars += ns
	}
	if bars != 3020 || !slices.Equal(d.Groups, [][2]int{{0, 1}, {2, 2}}) {
		t.Errorf("bars are %v ns of groups %v", bars, d.Groups)
	}
}

// TestProfileOfFormat1 has names of phases, each below the program, and no phase that a name's "/" makes.
func TestProfileOfFormat1(t *testing.T) {
	source := nested()
	source.Profile.Format = 1
	source.Profile.Rows = slices.DeleteFunc(source.Profile.Rows, func(r parquet.ProfileRow) bool {
		return r.Kind == parquet.ProfilePhase || r.Kind == parquet.ProfileUnrecorded
	})
	for i := range source.Profile.Rows {
		source.Profile.Rows[i].Phase = strings.ReplaceAll(source.Profile.Rows[i].Phase, `so\/lve/it`, "a/b")
	}
	s := written(t, source, page.LimitsOf(page.Report))
	got := framesOf(s, "phase")
	if s.Document.Profile.Format != 1 || got["program>a/b"]["ns"] != 905 || got["program"]["ns"] != 2720 {
		t.Errorf("format %d: %v", s.Document.Profile.Format, got)
	}
	if s.Document.Profile.Instances == nil || len(s.Document.Profile.Instances) != 0 || len(s.Floats["instance.first"]) != 0 {
		t.Errorf("instances are %v", s.Document.Profile.Instances)
	}
}

// TestInstances has instances of two phases, of which one has 10^5 in groups of 25: they say when they ran, and share
// points where there is no room.
func TestInstances(t *testing.T) {
	source := nested()
	it := trace.PhasePath("so/lve", "it")
	add := func(r parquet.InstanceRow) { source.Instances = append(source.Instances, r) }
	for n := range int64(2) {
		add(parquet.InstanceRow{What: parquet.InstanceWhole, InPhase: true, Phase: it, Iterations: -1, Instance: n, Instances: 1, Count: 3, Calls: 3, SumNS: 60 + n, DirectNS: 60 + n, LeastNS: 10, MostNS: 30, MostRank: 2, LongestNS: 30, LongestInstance: n})
		add(parquet.InstanceRow{What: parquet.InstanceMPI, InPhase: true, Phase: it, Iterations: -1, Instance: n, Instances: 1, Function: "MPI_Wait", Count: 3, Calls: 6, SumNS: 6, DirectNS: 6, MostNS: 4, MostRank: 1})
		for rank := range int32(3) {
			add(parquet.InstanceRow{What: parquet.InstanceWhole, InPhase: true, Phase: it, Iterations: -1, Instance: n, Instances: 1, OfThread: true, Rank: rank, Count: 1, SumNS: int64(10 + 10*rank)})
		}
		add(parquet.InstanceRow{What: parquet.InstanceMPI, InPhase: true, Phase: it, Iterations: -1, Instance: n, Instances: 1, Function: "MPI_Wait", OfThread: true, Rank: 1, Count: 1, SumNS: 4})
	}
	for n := range int64(4000) {
		add(parquet.InstanceRow{What: parquet.InstanceWhole, InPhase: true, Phase: "x", Iterations: -1, Instance: 25 * n, Instances: 25, Count: 1, Calls: 25, SumNS: 250 + n, DirectNS: 250, LeastNS: 250 + n, MostNS: 250 + n, LongestNS: n, LongestInstance: 25*n + 3})
		add(parquet.InstanceRow{What: parquet.InstanceWhole, InPhase: true, Phase: "x", Iterations: -1, Instance: 25 * n, Instances: 25, OfThread: true, Count: 1, SumNS: 250 + n})
	}
	s := written(t, source, page.LimitsOf(page.Report))
	d := s.Document.Profile
	if len(d.Instances) != 3 || d.Instances[0].Of != 2 || d.Instances[1].Function != "MPI_Wait" || !slices.Equal(d.Instances[0].Path, []string{"so/lve", "it"}) || d.Instances[2].Count != 4000 || d.Instances[2].Of != 100_000 || d.Merged != "" || !d.Classes {
		t.Errorf("it says %+v", d)
	}
	for name, want := range map[string][]float64{
		"sum": {60, 61, 6, 6}, "least": {10, 10, 0, 0}, "most": {30, 30, 4, 4}, "whose": {2, 2, 1, 1}, "class.0": {15, 15, 2, 2}, "class.1": {30, 30, 0, 0},
		"begin_ns": {110, 128, math.NaN(), math.NaN()}, "end_ns": {122, 140, math.NaN(), math.NaN()},
	} {
		if got := s.Floats["instance."+name][:4]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if got := s.Floats["instance.most"][4+400]; got != (250+400)/25. {
		t.Errorf("one instance of a group took %v", got)
	}
	l := page.LimitsOf(page.Report)
	l.Instances = 1003
	few := written(t, source, l)
	sum := func(s shown) (all float64) {
		for _, v := range s.Floats["instance.sum"] {
			all += v
		}
		return all
	}
	if n := len(few.Floats["instance.first"]); n > l.Instances || n < 900 || sum(few) != sum(s) || few.Document.Profile.Merged != "Up to 4 neighbouring instances, or groups of them, share a point." {
		t.Errorf("%d points of %v ns, not %v; %q", n, sum(few), sum(s), few.Document.Profile.Merged)
	}
	last := few.Document.Profile.Instances[2]
	if got := few.Floats["instance.last"][last.From+last.Count-1]; got != 99_999 || few.Floats["instance.many"][last.From] != 100 || few.Floats["instance.longest_at"][last.From] != 78 {
		t.Errorf("the last instance is %v, the first point is of %v", got, few.Floats["instance.many"][last.From])
	}
	// A thread without rows of its own: the means of classes are not known.
	source.Instances = slices.DeleteFunc(source.Instances, func(r parquet.InstanceRow) bool { return r.OfThread && r.Rank == 2 })
	if s := written(t, source, page.LimitsOf(page.Report)); s.Document.Profile.Classes || s.Floats["instance.class.0"] != nil {
		t.Error("classes have means without all of their threads")
	}
}

// A profile whose phases lie deeper than those of any run is damaged.
func TestPhasesTooDeep(t *testing.T) {
	names := slices.Repeat([]string{"a", "b"}, trace.MostPhaseDepth/2)
	for deeper, names := range [][]string{names, append(names, "c")} {
		source := nested()
		source.Profile.Rows = append(source.Profile.Rows, parquet.ProfileRow{Kind: parquet.ProfilePhase, InPhase: true, Phase: trace.PhasePath(names...), Iterations: -1})
		err := page.Write(io.Discard, page.View, source, page.LimitsOf(page.View))
		if (err != nil) != (deeper > 0) || err != nil && (!strings.HasPrefix(err.Error(), rundir.ProfileFile+": ") || hint.Of(err) == "") {
			t.Errorf("%d phases in each other: %v, %q", len(names), err, hint.Of(err))
		}
	}
}

// TestProfileByClass: a page of a profile that has call paths of classes has the same frames, and does not say which
// thread has the most of those.
func TestProfileByClass(t *testing.T) {
	whole := func() page.Source {
		s := nested()
		run := s.Detail
		run.CallPaths = append(run.CallPaths, trace.CallPath{Function: "MPI_Send", Frames: []trace.Frame{run.CallPaths[1].Frames[0], {Module: "app", Offset: 8, Function: "main", File: "/s/m.c", Line: 8}}})
		run.PathNames = append(run.PathNames, "MPI_Send@a.c:7<m.c:8")
		for rank := range int32(3) {
			s.Profile.Rows = append(s.Profile.Rows, parquet.ProfileRow{Kind: parquet.ProfileMPI, Rank: rank, CallPath: "MPI_Send@a.c:7<m.c:8", InPhase: true, Phase: trace.PhasePath("so/lve"), Iterations: -1, Count: 2, Records: 2, TimeNS: 7 + int64(rank)})
		}
		return s
	}
	summed := whole()
	p := &parquet.Profile{Format: 2, Classes: true}
	var classes []parquet.ProfileRow
	for _, r := range summed.Profile.Rows {
		class := r.Rank / 2
		if r.Class = class; !strings.HasPrefix(r.CallPath, "MPI_Send@") {
			p.Rows = append(p.Rows, r)
			continue
		}
		c := r
		c.Kind, _ = parquet.ClassKind(r.Kind)
		c.Rank, c.Threads = 0, 1
		classes = append(classes, c)
		r.CallPath, r.Context, r.Paths = "MPI_Send@a.c:7", -1, 2
		p.Rows = append(p.Rows, r)
	}
	p.Rows, summed.Profile = append(p.Rows, classes...), p
	want, got := written(t, whole(), page.LimitsOf(page.Report)), written(t, summed, page.LimitsOf(page.Report))
	for _, tree := range []string{"phase", "path"} {
		a, b := framesOf(want, tree), framesOf(got, tree)
		if len(a) < 4 || len(a) != len(b) {
			t.Fatalf("%s: %d frames, not %d", tree, len(b), len(a))
		}
		unknown := 0
		for name, frame := range a {
			for figure, x := range frame {
				y, there := b[name][figure]
				byClass := (figure == "most" || figure == "whose" || figure == "threads") && math.IsNaN(b[name]["most"])
				if byClass {
					unknown++
					continue
				}
				if !there || x != y && !(math.IsNaN(x) && math.IsNaN(y)) {
					t.Errorf("%s: %s %s is %v, not %v", tree, name, figure, y, x)
				}
			}
			if math.IsNaN(b[name]["most"]) && (b[name]["whose"] != -1 || b[name]["threads"] != -1) {
				t.Errorf("%s: %s has %v", tree, name, b[name])
			}
		}
		if (unknown > 0) != (tree == "path") {
			t.Errorf("%s: %d figures are not known", tree, unknown)
		}
	}
}
