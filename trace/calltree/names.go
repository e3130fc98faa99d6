package calltree

import (
	"fmt"
	"math"
	"strings"
)

// NoName stands for a name that is empty, as some formats have no place for one.
const NoName = "(no name)"

// Phased reports whether a node is a phase of the program or one of iterations.
func (n *Node) Phased() bool { return n.Type == Phase || n.Type == Iterations }

// Frame is the name of a node in a stack, where only the name says what it is: phases and iterations are marked.
func (n *Node) Frame() string {
	switch {
	case n.Phased():
		return string(n.Type) + ":" + n.Name
	case n.Name == "":
		return NoName
	}
	return n.Name
}

// PhasePath is the path of the innermost phase that a node is or lies in, as profile.parquet has it: names from the
// outermost on with "/" between, and a "\" before "/" and "\" in them. Outside of phases it is empty.
func (t *Tree) PhasePath(node int32) string {
	var names []string
	for _, i := range t.Stack(node) {
		if n := &t.Nodes[i]; n.Phased() {
			names = append(names, strings.NewReplacer(`\`, `\\`, "/", `\/`).Replace(n.Name))
		}
	}
	return strings.Join(names, "/")
}

// A Key is what makes the names of two nodes the same.
type Key struct {
	Type Type
	Name string
}

// Key is that of a node by its own name.
func (n *Node) Key() Key { return Key{n.Type, n.Name} }

// Distinct renders each key. Where two different ones would look the same, because a format has no place for what
// distinguishes them, the later one gets " (2)", " (3)" and so on: what has one name has been one thing.
func Distinct(keys []Key, render func(Key) string) []string {
	names := make([]string, len(keys))
	known, taken := make(map[Key]string), make(map[string]bool)
	for i, k := range keys {
		name, ok := known[k]
		if !ok {
			name = render(k)
			for n := 2; taken[name]; n++ {
				name = fmt.Sprintf("%s (%d)", render(k), n)
			}
			known[k], taken[name] = name, true
		}
		names[i] = name
	}
	return names
}

// Frames are the distinct names of all nodes in stacks. clean is applied to each, for what the format cannot hold.
func (t *Tree) Frames(clean func(string) string) []string {
	keys := make([]Key, len(t.Nodes))
	for i := range t.Nodes {
		keys[i] = t.Nodes[i].Key()
	}
	return Distinct(keys, func(k Key) string { return clean((&Node{Type: k.Type, Name: k.Name}).Frame()) })
}

// Sum is that of two values. It stops at the largest number.
func Sum(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// AddTo adds a column to the sums of columns.
func AddTo(sums, column []int64) {
	for i, v := range column {
		sums[i] = Sum(sums[i], v)
	}
}

// NewValues are columns for a tree, of zeros.
func (t *Tree) NewValues() *Values {
	v := &Values{NS: make([]int64, len(t.Nodes)), Calls: make([]int64, len(t.Nodes)), Metrics: make([][]int64, len(t.Metrics))}
	for m := range v.Metrics {
		v.Metrics[m] = make([]int64, len(t.Nodes))
	}
	return v
}

// Add adds the values of a thread.
func (v *Values) Add(x *Values) {
	AddTo(v.NS, x.NS)
	AddTo(v.Calls, x.Calls)
	for m := range v.Metrics {
		AddTo(v.Metrics[m], x.Metrics[m])
	}
}

// Total are the values of all threads together.
func (t *Tree) Total() (*Values, error) {
	sum := t.NewValues()
	err := t.Each(func(_ int, v *Values) error {
		sum.Add(v)
		return nil
	})
	return sum, err
}
