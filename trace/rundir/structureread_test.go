package rundir

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is written is read, and expanded; what no structure can be is refused, with what is wrong.
func TestReadStructure(t *testing.T) {
	one := int32(1)
	s := &Structure{
		Format: StructureFormat, Limit: 100, Paths: []string{"a", "b"}, Symbols: []StructureSymbol{{&one, 0, 1}, {nil, 1, 0}},
		Bodies: []StructureBody{
			{3, []StructureItem{{StructureCount: StructureCount{0, 2, 10, 1, 5}}}},
			{1, []StructureItem{
				{StructureLoop: StructureLoop{Turns: [][2]int64{{0, 3}}}}, {StructureLoop: StructureLoop{Mixed: []StructureCount{{1, 4, 7, 0, 2}}}},
			}},
		},
		Sequences: []StructureSequence{{Body: 1, Bursts: 10, Mixed: 4, Counts: [][2]int64{}}}, Threads: []StructureThread{{ThreadName: ThreadName{0, 2, 0}, ComputingNS: 9}},
	}
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, StructureFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	write(b.String())
	got, err := ReadStructure(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, got); diff != "" {
		t.Error(diff)
	}
	var list [][2]int64
	for symbol, times := range got.Each(1) {
		list = append(list, [2]int64{symbol, times})
	}
	if diff := cmp.Diff([][2]int64{{0, 2}, {0, 2}, {0, 2}, {1, 4}}, list); diff != "" {
		t.Error(diff)
	}
	for _, x := range []struct{ from, to, want string }{
		{`"format": 2`, `"format": 3`, "it has format 3"},
		{`"before":0`, `"before":2`, "symbol 0 has a call path that is not there"},
		{`[0,2,10,1,5]`, `[5,2,10,1,5]`, "body 0: a symbol is not there"},
		{`[0,2,10,1,5]`, `[0,2,10,1]`, "an item has 4 numbers, not 5"},
		{`[0,3]`, `[1,3]`, "body 1: a body is not there"},
		{`[0,3]`, `[0,4]`, "sequence 0: it has 10 bursts, its body 12"},
		{`[0,3]`, `[0,9000000000000000000]`, "body 1: a body is not there"},
		{`"body":1`, `"body":2`, "sequence 0: its body is not there"},
		{`"sequence":0`, `"sequence":1`, "thread 0: its sequence is not there"},
	} {
		text := strings.Replace(b.String(), x.from, x.to, 1)
		if text == b.String() {
			t.Fatalf("%s is not in the file:\n%s", x.from, text)
		}
		write(text)
		if _, err := ReadStructure(dir); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %s", x.to, err, x.want)
		}
	}
}
