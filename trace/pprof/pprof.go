// Package pprof writes a profile as pprof reads it: profile.proto, compressed by gzip. What comes in is a
// calltree.Tree; the sample types are calls/count, time/nanoseconds, which is the default, and the tree's metrics.
// Values are exact. docs/format/profiles.md describes the file.
//
// A frame's file and line are where it calls the next frame, as everywhere in pprof; the innermost frame has none.
// It never reads files of the program.
package pprof

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"moriens/trace/calltree"
)

// MostSamples is how many samples a profile may have before those of all threads are summed: what pprof opens in
// about a second.
const MostSamples = 1 << 18

// Options are what the tree does not say.
type Options struct {
	Start    time.Time     // of the run; zero = unknown
	Duration time.Duration // of the run
	Most     int           // samples; 0 = MostSamples
}

// Write writes a sample for each node and thread that have a value, with the thread's world, rank and number as
// labels. If these are more than Options.Most, it is one for each node, without these labels, and a comment says so.
func Write(w io.Writer, t *calltree.Tree, o Options) error {
	if o.Most == 0 {
		o.Most = MostSamples
	}
	b := newBuilder(t, &o)
	err := t.Each(func(thread int, v *calltree.Values) error {
		b.total.Add(v)
		b.take(thread, v)
		return nil
	})
	if err != nil {
		return err
	}
	b.finish()
	return b.profile.Write(w)
}

type (
	functionKey struct{ name, file string }
	locationKey struct {
		functionKey
		line int
	}
	labelKey struct {
		phase   string
		cluster string
	}
)

// A builder makes a profile.
type builder struct {
	tree      *calltree.Tree
	options   *Options
	names     []string
	stacks    [][]*profile.Location // of nodes, innermost first; nil = not yet needed
	phases    []string              // of nodes: path
	functions map[functionKey]*profile.Function
	locations map[locationKey]*profile.Location
	total     *calltree.Values
	summed    bool
	worlds    bool // there are several
	profile   *profile.Profile
}

func newBuilder(t *calltree.Tree, o *Options) *builder {
	b := &builder{
		tree: t, options: o, names: t.Frames(text), stacks: make([][]*profile.Location, len(t.Nodes)), phases: make([]string, len(t.Nodes)),
		functions: make(map[functionKey]*profile.Function), locations: make(map[locationKey]*profile.Location), total: t.NewValues(),
		profile: &profile.Profile{DefaultSampleType: "time", DurationNanos: o.Duration.Nanoseconds()},
	}
	for i := range t.Nodes {
		b.phases[i] = text(t.PhasePath(int32(i)))
	}
	if !o.Start.IsZero() {
		b.profile.TimeNanos = o.Start.UnixNano()
	}
	if n := len(t.Threads); n > 0 {
		b.worlds = t.Threads[0].World != t.Threads[n-1].World
	}
	b.profile.SampleType = []*profile.ValueType{{Type: "calls", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}}
	for i, name := range b.metrics() {
		unit := text(t.Metrics[i].Unit)
		if unit == "" {
			unit = "count"
		}
		b.profile.SampleType = append(b.profile.SampleType, &profile.ValueType{Type: name, Unit: unit})
	}
	return b
}

// metrics are the names of the further sample types; pprof finds a type by its name, so that they are distinct.
func (b *builder) metrics() []string {
	keys := []calltree.Key{{Type: "given", Name: "calls"}, {Type: "given", Name: "time"}}
	for i, m := range b.tree.Metrics {
		keys = append(keys, calltree.Key{Type: calltree.Type(strconv.Itoa(i)), Name: text(m.Name)})
	}
	return calltree.Distinct(keys, func(k calltree.Key) string {
		if k.Name == "" {
			return calltree.NoName
		}
		return k.Name
	})[2:]
}

// text makes a text one that profile.proto may hold.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// take adds the samples of a thread, as long as there are not too many.
func (b *builder) take(thread int, v *calltree.Values) {
	if b.summed {
		return
	}
	labels := make(map[labelKey]map[string][]string) // samples share them
	for i := range b.tree.Nodes {
		values, any := b.values(v, i)
		if !any {
			continue
		}
		if len(b.profile.Sample) == b.options.Most {
			b.summed, b.profile.Sample = true, nil
			return
		}
		b.sample(i, values, labels, func(l map[string][]string) {
			x := b.tree.Threads[thread]
			if x.Members > 0 {
				l["class"], l["threads"] = number(x.Class), number(x.Members)
				return
			}
			if b.worlds {
				l["world"] = number(x.World)
			}
			l["rank"], l["thread"] = number(x.Rank), number(x.Thread)
		})
	}
}

func number(n int32) []string { return []string{strconv.Itoa(int(n))} }

func (b *builder) values(v *calltree.Values, node int) (values []int64, any bool) {
	values = make([]int64, 0, len(b.profile.SampleType))
	values = append(values, v.Calls[node], v.NS[node])
	for _, column := range v.Metrics {
		values = append(values, column[node])
	}
	for _, x := range values {
		any = any || x != 0
	}
	return values, any
}

// sample adds a sample of a node. Its labels are among those, or are made and completed by more.
func (b *builder) sample(node int, values []int64, labels map[labelKey]map[string][]string, more func(map[string][]string)) {
	n := &b.tree.Nodes[node]
	key := labelKey{phase: b.phases[node]}
	if n.Type == calltree.Cluster {
		key.cluster = "none"
		if n.Cluster > 0 {
			key.cluster = strconv.Itoa(int(n.Cluster))
		}
	}
	l := labels[key]
	if l == nil {
		l = make(map[string][]string)
		if key.phase != "" {
			l["phase"] = []string{key.phase}
		}
		if key.cluster != "" {
			l["cluster"] = []string{key.cluster}
		}
		more(l)
		labels[key] = l
	}
	b.profile.Sample = append(b.profile.Sample, &profile.Sample{Location: b.stack(int32(node)), Value: values, Label: l})
}

// stack is that of a node, innermost first.
func (b *builder) stack(node int32) []*profile.Location {
	if b.stacks[node] == nil {
		list := []*profile.Location{b.location(b.names[node], "", 0)}
		for n := &b.tree.Nodes[node]; n.Parent >= 0; n = &b.tree.Nodes[n.Parent] {
			list = append(list, b.location(b.names[n.Parent], text(n.File), n.Line))
		}
		b.stacks[node] = list
	}
	return b.stacks[node]
}

func (b *builder) location(name, file string, line int) *profile.Location {
	if file == "" {
		line = 0
	}
	key := locationKey{functionKey{name, file}, line}
	if l := b.locations[key]; l != nil {
		return l
	}
	f := b.functions[key.functionKey]
	if f == nil {
		f = &profile.Function{ID: uint64(len(b.profile.Function) + 1), Name: name, SystemName: name, Filename: file}
		b.functions[key.functionKey] = f
		b.profile.Function = append(b.profile.Function, f)
	}
	l := &profile.Location{ID: uint64(len(b.profile.Location) + 1), Line: []profile.Line{{Function: f, Line: int64(line)}}}
	b.locations[key] = l
	b.profile.Location = append(b.profile.Location, l)
	return l
}

// finish adds what is known when all threads are taken.
func (b *builder) finish() {
	if b.tree.Title != "" {
		b.comment(b.tree.Title)
	}
	for _, f := range b.tree.Facts {
		b.comment(f.Name + ": " + f.Value)
	}
	if !b.summed {
		return
	}
	b.comment(fmt.Sprintf("summed over %d threads, without labels of ranks: with them it would be more than %d samples", len(b.tree.Threads), b.options.Most))
	labels := make(map[labelKey]map[string][]string)
	for i := range b.tree.Nodes {
		if values, any := b.values(b.total, i); any {
			b.sample(i, values, labels, func(map[string][]string) {})
		}
	}
}

// comment adds one; pprof prints each on a line.
func (b *builder) comment(s string) {
	b.profile.Comments = append(b.profile.Comments, strings.Join(strings.Fields(text(s)), " "))
}
