package program_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/program"
	"moriens/analysis/program/programtest"
	"moriens/internal/golden"
)

// A tester is a test, or a trial of one with programs at random.
type tester interface {
	Helper()
	Fatal(list ...any)
}

func written(t tester, p *program.Program) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What is written is read, and is written so again, whichever way.
func TestWrittenAndRead(t *testing.T) {
	for name, p := range programtest.All() {
		text := written(t, p)
		golden.Check(t, name+".json", text)
		back, err := program.Read(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again := written(t, back); !bytes.Equal(again, text) {
			t.Errorf("%s: %s", name, cmp.Diff(string(text), string(again)))
		}
		var short, compact bytes.Buffer
		e := json.NewEncoder(&short)
		e.SetEscapeHTML(false)
		if err := e.Encode(p); err != nil {
			t.Fatal(err)
		}
		if err := json.Compact(&compact, text); err != nil || strings.TrimSpace(compact.String()) != strings.TrimSpace(short.String()) {
			t.Errorf("%s: json.Marshal writes another text: %v", name, err)
		}
	}
}

// fields are those that docs/format/program.md names for each kind of node, there whatever they are.
var fields = map[string][]string{
	program.KindLoop:      {"id", "kind", "trips", "by", "file", "line", "stands_for", "explains", "body"},
	program.KindCall:      {"id", "kind", "function", "file", "line", "recursive", "body"},
	program.KindRecursion: {"id", "kind", "function", "file", "line", "count", "body"},
	program.KindIf:        {"id", "kind", "ranks", "when", "happened", "of", "else", "by", "body"},
	program.KindMPI:       {"id", "kind", "function", "file", "line", "count", "peers", "bytes", "mpi_ns", "late_ns", "paths"},
	program.KindCompute:   {"id", "kind", "count", "share", "compute_ns", "mean_ns", "std_ns", "clusters", "counters"},
	program.KindOther:     {"id", "kind", "lines", "count", "share", "compute_ns", "mpi_ns", "late_ns", "body"},
}

// A node that says nothing has the fields of its kind, and no others.
func TestFieldsOfKinds(t *testing.T) {
	for kind, want := range fields {
		text, err := json.Marshal(&program.Node{Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		var names []string
		for name := range got {
			names = append(names, name)
		}
		slices.Sort(names)
		slices.Sort(want)
		if !slices.Equal(names, want) {
			t.Errorf("%s has %q, want %q", kind, names, want)
		}
		for name, null := range map[string]bool{"ranks": true, "when": true, "bytes": true, "peers": false, "paths": false, "clusters": false, "counters": false, "body": false} {
			if x, there := got[name]; there && (string(x) == "null") != null {
				t.Errorf("%s: %s is %s", kind, name, x)
			}
		}
	}
	for kind, want := range map[string]string{
		program.WhenEvery: `"period":0,"offset":0`, program.WhenNotEvery: `"period":0,"offset":0`, program.WhenAt: `"trip":0`, program.WhenTo: `"trip":0`,
		program.WhenRange: `"first":0,"last":0,"stride":0`, program.WhenDepth: `"trip":0`,
	} {
		if text, err := json.Marshal(&program.When{Kind: kind}); err != nil || string(text) != fmt.Sprintf(`{"kind":%q,%s}`, kind, want) {
			t.Errorf("%s, %v", text, err)
		}
	}
	if text, err := json.Marshal(&program.Trips{Kind: program.TripsConstant}); err != nil || string(text) != `{"least":0,"most":0,"mean":0,"entries":0,"total":0,"kind":"constant","cycle":null,"expression":""}` {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := json.Marshal(&program.When{Kind: program.WhenLast, Variable: "i"}); err != nil || string(text) != `{"kind":"last","variable":"i"}` {
		t.Errorf("%s, %v", text, err)
	}
}

// What no program can be is refused, and the error says what and where.
func TestRefused(t *testing.T) {
	const head = `{"format":1,"ranks":4,"certain":{"calls":1,"time":1},"basis":"code","body":[`
	const loop = `"kind":"loop","by":"code","trips":`
	for text, want := range map[string]string{
		``:             "cut short, at 0 bytes",
		`{"format":1,`: "cut short, at 12 bytes",
		`[]`:           "cannot unmarshal array",
		`{}`:           "no format number",
		`{"format":2}`: "format 2, this moriens reads 1",
		`{"format":1}`: "0 ranks",
		`{"format":1,"ranks":1,"certain":{"calls":2}}`:                    "no share",
		`{"format":1,"ranks":1}`:                                          `basis is ""`,
		head + `{}]}`:                                                     "behind node 0 follows node 0",
		head + `null]}`:                                                   "behind node 0 one is null",
		head + `{"id":1}]}`:                                               "node 1: it has no kind",
		head + `{"id":1,"kind":"goto"}]}`:                                 `kind "goto" is not known`,
		head + `{"id":1,"kind":"loop"}]}`:                                 "no trips",
		head + `{"id":1,` + loop + `{}}]}`:                                `trips of kind "" are not known`,
		head + `{"id":1,` + loop + `{"least":3,"most":2}}]}`:              "trips of the loop cannot be",
		head + `{"id":1,` + loop + `{"kind":"cycle","expression":"x"}}]}`: "cycle if they are of that kind",
		head + `{"id":1,` + loop + `{"kind":"cycle","cycle":[9],"most":3,"expression":"x"}}]}`:                                           "9 trips in a cycle of 0 to 3",
		head + `{"id":1,` + loop + `{"kind":"varies","quartiles":[3,2,1],"expression":"x"}}]}`:                                           "quartiles",
		head + `{"id":1,` + loop + `{"kind":"constant"}}]}`:                                                                              "no expression",
		head + `{"id":1,"kind":"loop","trips":{"kind":"constant","expression":"0"}}]}`:                                                   `evidence ""`,
		head + `{"id":1,"kind":"loop","count":-1}]}`:                                                                                     "negative",
		head + `{"id":1,"kind":"mpi","function":"MPI_Send","mpi_ns":-1}]}`:                                                               "a time is negative",
		head + `{"id":1,"kind":"compute","share":1.5}]}`:                                                                                 "a share is not",
		head + `{"id":1,"kind":"compute","body":[{"id":2,"kind":"compute"}]}]}`:                                                          "kind compute, and has a body",
		head + `{"id":1,"kind":"call"}]}`:                                                                                                "no function",
		head + `{"id":1,"kind":"call","function":"f","body":[{"id":1,"kind":"compute"}]}]}`:                                              "behind node 1 follows node 1",
		head + `{"id":1,"kind":"if","by":"sequence"}]}`:                                                                                  "no condition",
		head + `{"id":1,"kind":"if","by":"sequence","else":true}]}`:                                                                      "else without an if",
		head + `{"id":1,"kind":"compute","else":true}]}`:                                                                                 "else without an if",
		head + `{"id":1,"kind":"if","by":"sequence","ranks":[]}]}`:                                                                       "list of ranks is empty",
		head + `{"id":1,"kind":"if","by":"sequence","ranks":[2,1]}]}`:                                                                    "rank 1 behind rank 2",
		head + `{"id":1,"kind":"if","by":"sequence","ranks":[4]}]}`:                                                                      "of 4 ranks",
		head + `{"id":1,"kind":"if","by":"sequence","ranks":[1],"happened":3,"of":2}]}`:                                                  "3 of 2 times",
		head + `{"id":1,"kind":"if","by":"sequence","when":{"kind":"now"}}]}`:                                                            `conditions of kind "now"`,
		head + `{"id":1,"kind":"if","by":"sequence","when":{"kind":"every","period":3,"offset":3}}]}`:                                    "figures that cannot be",
		head + `{"id":1,"kind":"mpi"}]}`:                                                                                                 "MPI call has no function",
		head + `{"id":1,"kind":"mpi","function":"f","peers":[{"way":"up"}]}]}`:                                                           `way of a peer is "up"`,
		head + `{"id":1,"kind":"mpi","function":"f","peers":[{"way":"to"}]}]}`:                                                           "no kind or no text",
		head + `{"id":1,"kind":"mpi","function":"f","bytes":{"least":2,"most":1}}]}`:                                                     "bytes of the call",
		head + `{"id":1,"kind":"mpi","function":"f","root":-1}]}`:                                                                        "root is -1",
		head + `{"id":1,"kind":"mpi","function":"f","paths":[-1]}]}`:                                                                     "call path -1",
		head + `{"id":1,"kind":"compute","clusters":[{"bursts":-1}]}]}`:                                                                  "cluster 0 has figures",
		head + `{"id":1,"kind":"compute","counters":[{"n":1}]}]}`:                                                                        "counter has no name",
		head + `{"id":1,"kind":"compute","around":[[0,-1]]}]}`:                                                                           "call paths 0 and -1",
		head + `{"id":1,"kind":"compute","share":0.6},{"id":2,"kind":"compute","share":0.6}]}`:                                           "node 2: shares add up to 1.2",
		head + `{"id":1,"kind":"compute","compute_ns":9e18},{"id":2,"kind":"compute"}]}`:                                                 "cannot unmarshal number 9e18",
		head + `{"id":1,"kind":"compute","compute_ns":9000000000000000000},{"id":2,"kind":"compute","compute_ns":9000000000000000000}]}`: "more than can be",
		head + `{"id":1,"kind":"other"}]}`:                                                                                               "stands for no lines",
	} {
		if _, err := program.Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Whatever text there is: it is refused, or what is read is a program that is written and read again as it is.
func FuzzRead(f *testing.F) {
	for _, p := range programtest.All() {
		f.Add(written(f, p))
	}
	f.Add(written(f, programtest.Compared()))
	f.Add(written(f, programtest.Same()))
	f.Add([]byte(`{"format":1,"ranks":1,"basis":"order","body":[{"id":1,"kind":"other","lines":3}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := program.Read(text)
		if err != nil {
			return
		}
		first := written(t, p)
		back, err := program.Read(first)
		if err != nil {
			t.Fatalf("%v in %s", err, first)
		}
		if again := written(t, back); !bytes.Equal(again, first) {
			t.Fatal(cmp.Diff(string(first), string(again)))
		}
		small, err := program.Fold(p, len(first)/2)
		if err != nil {
			t.Fatal(err)
		}
		if err := small.Check(); err != nil {
			t.Fatalf("folded: %v", err)
		}
		for _, v := range []program.View{{}, {Ranks: []int{0}, MinShare: .5}, {Depth: 2, All: true}} {
			if err := p.Select(v).Check(); err != nil {
				t.Fatalf("%+v: %v", v, err)
			}
		}
	})
}
