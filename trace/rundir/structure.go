package rundir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"moriens/trace"
)

// A Structure is structure.json: what all threads did one after the other, as loops. docs/format/structure.md has the
// rules.
type Structure struct {
	Format    int                 `json:"format"`
	Limit     int                 `json:"limit"`      // about how many items a sequence may have
	Paths     []string            `json:"call_paths"` // names of those that symbols have
	Symbols   []StructureSymbol   `json:"symbols"`
	Bodies    []StructureBody     `json:"bodies"` // those that others name before them
	Sequences []StructureSequence `json:"sequences"`
	Threads   []StructureThread   `json:"threads"`
}

// A StructureSymbol is what a burst is.
type StructureSymbol struct {
	Cluster *int32 `json:"cluster"` // null: any
	Before  int    `json:"before"`  // index into Paths
	After   int    `json:"after"`
}

// A StructureBody is what is done once.
type StructureBody struct {
	Rounds int64           `json:"rounds"` // how often all threads together did it
	Items  []StructureItem `json:"items"`
}

// A StructureItem is a symbol some times in a row (Times is not 0), written as the list that StructureCount is, or an
// object: a loop, or what was summed up.
type StructureItem struct {
	StructureCount
	StructureLoop
}

// A StructureLoop is a loop, or what was summed up, or both.
type StructureLoop struct {
	Turns     [][2]int64       `json:"turns,omitempty"` // body and times, in the order of time unless unordered
	Unordered bool             `json:"unordered,omitempty"`
	Mixed     []StructureCount `json:"mixed,omitempty"`
}

// A StructureCount is how often there was a symbol in one round, and the times of its bursts at that place, of all
// threads in every round. In the file it is a list of these.
type StructureCount struct {
	Symbol, Times int64
	MeanNS, StdNS int64 // of the durations; StdNS that of the population
	GapNS         int64 // mean time to the next burst
}

// MarshalJSON writes a list.
func (c StructureCount) MarshalJSON() ([]byte, error) {
	return json.Marshal([]int64{c.Symbol, c.Times, c.MeanNS, c.StdNS, c.GapNS})
}

// MarshalJSON writes a list or an object.
func (i StructureItem) MarshalJSON() ([]byte, error) {
	if i.Times > 0 {
		return i.StructureCount.MarshalJSON()
	}
	return json.Marshal(i.StructureLoop)
}

// A StructureSequence is the whole of what some threads did.
type StructureSequence struct {
	Body      int32      `json:"body"`
	Bursts    int64      `json:"bursts"`    // of one thread
	Mixed     int64      `json:"mixed"`     // of these: of which only the number is known
	Unordered int64      `json:"unordered"` // of these: in loops whose order of turns is not known
	Blurred   int64      `json:"blurred"`   // of these: whose cluster is not known at its place
	Counts    [][2]int64 `json:"counts"`    // where the body is of symbols of any cluster: symbol and times, of one thread; else empty
}

// A StructureThread is one thread.
type StructureThread struct {
	ThreadName
	Sequence    int32 `json:"sequence"`
	ComputingNS int64 `json:"computing_ns"`
}

// Write writes structure.json, each symbol, body, sequence and thread on a line of its own.
func (s *Structure) Write(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n\"format\": %d,\n\"limit\": %d", s.Format, s.Limit)
	list := func(name string, n int, element func(i int) any) error {
		fmt.Fprintf(&b, ",\n%q: [", name)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteByte('\n')
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			if err := e.Encode(element(i)); err != nil {
				return err
			}
			b.Truncate(b.Len() - 1) // the line's end that Encode adds
		}
		b.WriteString("]")
		return nil
	}
	for _, l := range []struct {
		name    string
		n       int
		element func(i int) any
	}{
		{"call_paths", len(s.Paths), func(i int) any { return s.Paths[i] }},
		{"symbols", len(s.Symbols), func(i int) any { return &s.Symbols[i] }},
		{"bodies", len(s.Bodies), func(i int) any { return &s.Bodies[i] }},
		{"sequences", len(s.Sequences), func(i int) any { return &s.Sequences[i] }},
		{"threads", len(s.Threads), func(i int) any { return &s.Threads[i] }},
	} {
		if err := list(l.name, l.n, l.element); err != nil {
			return err
		}
	}
	b.WriteString("\n}\n")
	_, err := b.WriteTo(w)
	return err
}

// A ThreadName distinguishes a thread from the others of a run.
type ThreadName struct {
	World  int `json:"world"`
	Rank   int `json:"rank"`
	Thread int `json:"thread"`
}

func (n ThreadName) String() string {
	return fmt.Sprintf("world %d rank %d thread %d", n.World, n.Rank, n.Thread)
}

// Short is how people name it: by its rank, by world and thread too only where there are several worlds and where it is
// not the rank's first thread.
func (n ThreadName) Short(worlds bool) string {
	text := fmt.Sprintf("rank %d", n.Rank)
	if worlds {
		text = fmt.Sprintf("world %d rank %d", n.World, n.Rank)
	}
	if n.Thread > 0 {
		text += fmt.Sprintf(" thread %d", n.Thread)
	}
	return text
}

// NameOf is the name of a thread.
func NameOf(t *trace.Thread) ThreadName { return ThreadName{t.World, t.Rank, t.Thread} }
