package console

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"moriens/app/profiling"
	"moriens/internal/golden"
	"moriens/internal/plain"
	"moriens/internal/units"
	"moriens/trace/rundir/rundirtest"
)

// What moriens profile prints of a planted program, to the letter.
func TestGoldenProfile(t *testing.T) {
	dir := t.TempDir()
	p := rundirtest.Profile(6)
	if err := rundirtest.WriteProfile(dir, p, p.Manifest()); err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]profiling.Question{
		"default":        {},
		"call":           {By: profiling.ByCall},
		"call-top":       {By: profiling.ByCall, Top: 3},
		"callpath":       {By: profiling.ByCallPath},
		"callpath-tree":  {By: profiling.ByCallPath, Nested: true},
		"callpath-some":  {By: profiling.ByCallPath, Nested: true, Depth: 3, Top: 6},
		"function":       {By: profiling.ByFunctions},
		"phase-tree":     {By: profiling.ByPhase, Nested: true},
		"phase-in":       {By: profiling.ByPhase, In: pattern(t, "adi/*")},
		"cluster":        {By: profiling.ByCluster},
		"rank":           {By: profiling.ByRank, Top: 4},
		"node":           {By: profiling.ByNode, Metric: "bytes"},
		"instance":       {By: profiling.ByInstance, In: pattern(t, "x_solve")},
		"instance-wait":  {By: profiling.ByInstance, In: pattern(t, "adi/x_solve"), Metric: "time:MPI_Wait", Top: 4},
		"instance-few":   {By: profiling.ByInstance, In: pattern(t, "adi")},
		"iteration":      {By: profiling.ByIteration},
		"ipc":            {By: profiling.ByCall, Metric: "ipc"},
		"counter":        {By: profiling.ByPhase, Metric: "PAPI_TOT_INS", Top: 2},
		"bytes-most":     {By: profiling.ByCall, Metric: "bytes", Stat: profiling.Most},
		"time-mean":      {By: profiling.ByCall, Stat: profiling.Mean},
		"time-imbalance": {By: profiling.ByCall, Stat: profiling.Imbalance},
	} {
		if q.Top == 0 {
			q.Top = -1
		}
		if q.By != profiling.ByIteration {
			q.Found = -1
		}
		q.Dir = dir
		a, err := profiling.Ask(q)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a.Question.Dir = "/run/bt"
		var b bytes.Buffer
		if err := Profile(plain.Writer(&b), a); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(b.String(), "\t\x1b") {
			t.Errorf("%s: characters that are obeyed:\n%s", name, b.String())
		}
		golden.Check(t, "profile-"+name+".txt", b.Bytes())
	}
}

// Of many instances the slow one is named: in a group of them, by its number.
func TestSlowInstance(t *testing.T) {
	for want, series := range map[string]rundirtest.Series{
		`^ *77775–77799 +3 +\S+ ms .* 1 +slow: instance 77777 took 50\.0 ms$`: {Instances: 100_000, Group: 25, Slow: 77_777},
		`^ *3333 +3 +\S+ ms .* 1 +slow$`:                                      {Instances: 4096, Group: 1, Slow: 3333},
	} {
		dir := t.TempDir()
		p := rundirtest.Profile(3)
		p.Instances = series.Rows()
		if err := rundirtest.WriteProfile(dir, p, p.Manifest()); err != nil {
			t.Fatal(err)
		}
		a, err := profiling.Ask(profiling.Question{Dir: dir, By: profiling.ByInstance, Top: -1, Found: -1})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := Profile(plain.Writer(&b), a); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		for _, pattern := range []string{want, fmt.Sprintf(`instances of step · time of each as a whole · %s instances on 3 threads$`, units.Integer(int(series.Instances))), `^slow: 1 row above the median`} {
			if !regexp.MustCompile(`(?m)` + pattern).MatchString(text) {
				t.Errorf("no %q in\n%s", pattern, text)
			}
		}
		if n := strings.Count(text, "slow"); n != 2 { // the row, and the rule
			t.Errorf("%d times slow:\n%s", n, text)
		}
	}
}

func pattern(t *testing.T, text string) *profiling.Pattern {
	t.Helper()
	p, err := profiling.PatternOf(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
