package pairing

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"moriens/trace/rundir/rundirtest"
)

// JSON has all fields, lists are never null, and what is not known is.
func TestJSON(t *testing.T) {
	for _, kind := range rundirtest.Exchanges {
		r := solve(t, kind, Question{})
		var b bytes.Buffer
		if err := r.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
		for _, field := range []string{"ranks", "pairs", "merges", "order", "groups", "lines", "sizes", "call_paths", "causes", "findings"} {
			if _, list := got[field].([]any); !list {
				t.Errorf("%s: %s is %v", kind, field, got[field])
			}
		}
		for _, field := range []string{"format", "exact", "totals", "cophenetic", "modularity", "placement"} {
			if _, there := got[field]; !there {
				t.Errorf("%s: no %s", kind, field)
			}
		}
		back := new(Result)
		if err := json.Unmarshal(b.Bytes(), back); err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err := back.WriteJSON(&again); err != nil || again.String() != b.String() {
			t.Errorf("%s: read and written again it differs: %v", kind, err)
		}
		if strings.Count(b.String(), "\n") < len(r.Pairs)+len(r.Ranks) {
			t.Errorf("%s: pairs have no lines of their own", kind)
		}
	}
}
