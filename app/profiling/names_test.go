package profiling

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/internal/hint"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// plantNames is a directory with phases of these names, each of 1 us, in a program that is nothing else.
func plantNames(t *testing.T, names []string) *Source {
	p := rundirtest.Profile(1)
	p.Profile.Rows, p.Instances = nil, nil
	row := func(phase string, inPhase bool, ns, own int64) {
		p.Profile.Rows = append(p.Profile.Rows, parquet.ProfileRow{
			Kind: parquet.ProfilePhase, Context: -1, Iterations: -1, Phase: phase, InPhase: inPhase, Count: 1, Records: 1, TimeNS: ns, ExclusiveNS: own,
		})
	}
	row("", false, 1000*int64(len(names)), 0)
	for _, name := range names {
		row(trace.PhasePath(name), true, 1000, 1000)
		p.Profile.Rows = append(p.Profile.Rows, parquet.ProfileRow{
			Kind: parquet.ProfileUnrecorded, Context: -1, Iterations: -1, Phase: trace.PhasePath(name), InPhase: true, Count: 1, Records: 1, TimeNS: 1000,
		})
	}
	return plant(t, p)
}

// Whatever a hint offers as a phase, --in takes, and then it is that phase alone.
func TestHintsNamePhasesThatAreTaken(t *testing.T) {
	names := []string{"", "*", "**", "a*b", "aXb", `back\slash`, "read/write", "x"}
	s := plantNames(t, names)
	_, err := Ask(Question{Dir: s.Dir, By: ByCall, In: mustPattern(t, "nosuch"), Found: -1})
	offered, ok := strings.CutPrefix(hint.Of(err), "give one of: ")
	var texts []string
	if bad := json.Unmarshal([]byte("["+offered+"]"), &texts); !ok || bad != nil || len(texts) != len(names) {
		t.Fatalf("%v: %s", err, hint.Of(err))
	}
	var found []string
	for _, text := range texts {
		w, _ := readAnswer(t, ask(t, s, Question{By: ByPhase, In: mustPattern(t, text)}))
		if w.Total.Time.Inclusive.Sum != "1000" {
			t.Errorf("--in %s is of %s ns", text, w.Total.Time.Inclusive.Sum)
		}
		for i := range w.Rows {
			if w.Rows[i].Type == "phase" {
				found = append(found, w.Rows[i].Name)
			}
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, slices.Sorted(slices.Values(names))) {
		t.Errorf("%q of %q", found, names)
	}
	long := strings.Repeat("long ", 20)
	if _, err := Ask(Question{Dir: plantNames(t, []string{long}).Dir, By: ByCall, In: mustPattern(t, "nosuch"), Found: -1}); hint.Of(err) != `give one of: "`+long[:60]+`"…` {
		t.Errorf("%v: %s", err, hint.Of(err))
	}
}

// Names with ends of lines are in CSV as they are: two of them never become one.
func TestCSVKeepsEndsOfLines(t *testing.T) {
	var text bytes.Buffer
	if err := ask(t, plantNames(t, []string{"a\rb", "ab", "a\nb", "a\r\nb"}), Question{By: ByPhase}).CSV(&text); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"\"a\rb\"", "ab", "\"a\nb\"", "\"a\r\nb\""} {
		if n := strings.Count(text.String(), "\r\nphase,"+name+","); n != 1 {
			t.Errorf("%q is there %d times:\n%q", name, n, text.String())
		}
	}
	if !strings.HasSuffix(text.String(), "\r\n") {
		t.Errorf("%q", text.String())
	}
}

// An answer says what of the run is not in its figures.
func TestNotesOfLosses(t *testing.T) {
	s := plantNames(t, []string{"x"})
	name := filepath.Join(s.Dir, rundir.ManifestFile)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	m := make(map[string]any)
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	m["complete"], m["incomplete"] = false, []string{"first", "second"}
	m["losses"] = map[string]any{
		"ranks_died":      []any{map[string]any{"world": 0, "rank": 0, "how": "MPI_Abort"}},
		"phases_too_deep": 2, "phases_unfinished": 1, "phase_ends_unmatched": 3,
	}
	if text, err = json.Marshal(m); err == nil {
		err = os.WriteFile(name, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	died := "1 rank died (rank 0: MPI_Abort): what it computed after its last MPI call is not known"
	incomplete := "incomplete: first; and 1 more: moriens status --long DIR"
	phases := []string{
		"2 phases in 256 or more others, part of the innermost of the first 256",
		"1 phase without an end: until the phase round it ends, or with the thread's last record",
		"3 ends of phases without a begin, without effect",
	}
	for by, want := range map[By][]string{ByCall: {died, incomplete}, ByRank: {died, incomplete}, ByPhase: slices.Concat([]string{died}, phases, []string{incomplete})} {
		if a := ask(t, s, Question{By: by}); !slices.Equal(a.Notes, want) {
			t.Errorf("by %s: %q", by, a.Notes)
		}
	}
}
