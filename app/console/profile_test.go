package console

import (
	"bytes"
	"strings"
	"testing"

	"moriens/app/profiling"
	"moriens/internal/golden"
	"moriens/internal/plain"
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

func pattern(t *testing.T, text string) *profiling.Pattern {
	t.Helper()
	p, err := profiling.PatternOf(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
