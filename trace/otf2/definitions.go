package otf2

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"moriens/trace"
)

// definitions are what the events of a run refer to, by number.
type definitions struct {
	start      uint64 // nanoseconds since 1970; undefinedTime where not known
	durationNS int64

	strings    stringTable
	mpi        uint32 // string
	attributes []attribute
	nodes      []node
	processes  []process
	locations  []location
	regions    []region
	sources    []source
	contexts   []context
	metrics    []metric // by counter
	classes    []class  // first of all counters, then of each alone, at last of the critical path
	parameters []parameter
	groups     []group
	comms      []comm

	functions   []function // by call path
	callRegions []uint32   // by call path
	callContext []uint32   // by call path; undefined where no caller is known
	clusters    clusterRegions
	dropped     uint32   // region
	phaseLevel  []uint32 // parameters, by depth
	event       []uint32 // parameters, by number in Run.MarkNames
	window      uint32   // parameter
	windows     []uint32 // strings
	marks       []uint32 // strings, by number in Run.MarkNames
	critical    uint32   // class
	waitKinds   []uint32 // strings, by kind; nil where no call waits
	threadNames []uint32 // strings, by number in Run.Threads; likewise
	ranks       ranks
	commOf      []uint32   // by number in Run.Communicators; undefined for windows and files
	channels    [][]uint32 // communicators of messages, by channel and world, and at last of all worlds
	channelOf   []int32    // by number in Run.Messages
}

const undefinedTime = 1<<64 - 1

// Attributes of events.
const (
	attrCluster    = iota // on the leave of a burst
	attrWeight            // on the leave of a burst that stands for others
	attrContext           // on the enter of a call
	attrUnfinished        // on the leave of a call in which the process ended
	attrSent              // on the leave of a collective that OTF2 has no operation for
	attrReceived
	attrPath  // on the enter of a call
	attrCalls // on the enter of several calls as one
	// On the leave of a call that waited.
	attrWaitKind
	attrWaitNS
	attrWaitFor // unless that is not known
)

type attribute struct {
	name, about uint32
	kind        uint8
}

type node struct {
	name, class uint32
	parent      uint32
}

type process struct {
	name uint32
	node uint32
}

type location struct {
	id      uint64
	name    uint32
	process uint32
	thread  int    // number in Run.Threads; -1 = not known
	events  uint64 // once they are written
}

type region struct {
	name, about    uint32
	role, paradigm uint32
}

type source struct {
	file uint32
	line uint32
}

type context struct {
	region, source, parent uint32
}

type metric struct {
	name, unit uint32
	papi       bool
	mode       uint8
}

// A class is metrics that are reported together.
type class struct {
	members    []uint32
	occurrence uint8
}

type parameter struct {
	name uint32
	kind uint32
}

type group struct {
	name    uint32
	kind    uint32
	members []uint64
}

type comm struct {
	name  uint32
	group uint32
}

// A stringTable numbers texts, which it puts on one line; 0 is the empty one.
type stringTable struct {
	list   []string
	number map[string]uint32
}

func (s *stringTable) of(text string) uint32 {
	if s.number == nil {
		s.number = map[string]uint32{"": 0}
		s.list = []string{""}
	}
	return numberOf(oneLine(text), s.number, &s.list)
}

func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// define makes the definitions of a run. Without a plan they serve to make one: all messages of a world have one
// communicator.
func define(run *trace.Run, p *plan) *definitions {
	d := &definitions{start: undefinedTime, durationNS: run.DurationNS}
	if !run.Start.Equal(time.Time{}) {
		d.start = uint64(run.Start.UnixNano())
	}
	d.strings.of("")
	d.mpi = d.strings.of("MPI")
	d.defineAttributes()
	d.definePlaces(run)
	d.defineCalls(run)
	d.clusters = d.defineClusters(run)
	d.dropped = d.region("dropped", "time without kept detail: calls and bursts were dropped", roleArtificial, paradigmMeasurement)
	d.defineCounters(run)
	d.defineMarks(run)
	d.defineWaits(run)
	d.defineCommunicators(run, p)
	return d
}

func (d *definitions) defineAttributes() {
	for _, a := range []struct {
		name, about string
		kind        uint8
	}{
		attrCluster:    {"cluster", "number of the burst's cluster; -1 noise, -2 filtered, -3 missing data, 0 none", typeInt32},
		attrWeight:     {"weight", "number of bursts that it represents", typeDouble},
		attrContext:    {"call path", "who made the call", typeContext},
		attrUnfinished: {"unfinished", "the process ended inside the call", typeUint8},
		attrSent:       {"bytes sent", "to the other ranks of the collective", typeUint64},
		attrReceived:   {"bytes received", "from the other ranks of the collective", typeUint64},
		attrPath:       {"path", "number of the call path in callpaths.json of the run directory", typeUint64},
		attrCalls:      {"calls", "number of calls that it represents: consecutive polls without a result", typeUint64},
		attrWaitKind:   {"wait", "what the call waited for, from its enter on", typeString},
		attrWaitNS:     {"wait ns", "how long it waited", typeUint64},
		attrWaitFor:    {"wait for", "the rank, or its thread, that it waited for", typeString},
	} {
		d.attributes = append(d.attributes, attribute{d.strings.of(a.name), d.strings.of(a.about), a.kind})
	}
}

func (d *definitions) region(name, about string, role, paradigm uint32) uint32 {
	d.regions = append(d.regions, region{d.strings.of(name), d.strings.of(about), role, paradigm})
	return uint32(len(d.regions) - 1)
}

// clusterRegions are the regions of bursts.
type clusterRegions struct {
	first                           uint32 // of cluster 1
	number                          int32
	noise, filtered, missing, plain uint32
}

func (d *definitions) defineClusters(run *trace.Run) clusterRegions {
	c := clusterRegions{number: int32(len(run.Clusters)), first: uint32(len(d.regions))}
	for i := range run.Threads {
		for _, label := range run.Threads[i].Bursts.Cluster {
			c.number = max(c.number, label)
		}
	}
	for id := range c.number {
		about := "computation bursts with similar behaviour"
		if int(id) < len(run.Clusters) && run.Clusters[id].VariantOf != 0 {
			about += fmt.Sprintf(", a variant of cluster %d", run.Clusters[id].VariantOf)
		}
		d.region(fmt.Sprintf("cluster %d", id+1), about, roleCode, paradigmUser)
	}
	c.noise = d.region("noise", "computation bursts in no dense region", roleCode, paradigmUser)
	c.filtered = d.region("filtered", "computation bursts that are too short or out of range", roleCode, paradigmUser)
	c.missing = d.region("missing data", "computation bursts that lack a counter", roleCode, paradigmUser)
	c.plain = d.region("burst", "computation bursts that were not clustered", roleCode, paradigmUser)
	return c
}

func (c *clusterRegions) of(label int32) (uint32, error) {
	switch {
	case label > 0:
		return c.first + uint32(label-1), nil
	case label == 0:
		return c.plain, nil
	case label == trace.LabelNoise:
		return c.noise, nil
	case label == trace.LabelFiltered:
		return c.filtered, nil
	case label == trace.LabelMissing:
		return c.missing, nil
	}
	return 0, fmt.Errorf("no cluster has the number %d", label)
}

// defineCounters makes one metric class of all counters, and where bursts lack some of them one of each, so that a
// count that is not there is not reported.
func (d *definitions) defineCounters(run *trace.Run) {
	var all []uint32
	for i, c := range run.Counters {
		d.metrics = append(d.metrics, metric{d.strings.of(c.Name), d.strings.of(c.Unit), strings.HasPrefix(c.Name, "PAPI_"), metricAccumulated})
		all = append(all, uint32(i))
	}
	if len(all) == 0 {
		return
	}
	d.classes = append(d.classes, class{all, metricSynchronous})
	if slices.ContainsFunc(run.Threads, func(t trace.Thread) bool { return lacksSome(&t.Bursts, len(all)) }) {
		for i := range all {
			d.classes = append(d.classes, class{all[i : i+1], metricSynchronous})
		}
	}
}

// lacksSome reports whether there is a burst that has some of the counters and not others.
func lacksSome(b *trace.Bursts, counters int) bool {
	for i := range b.Len() {
		if len(b.Counters) < counters {
			return true
		}
		for _, column := range b.Counters {
			if (column[i] == trace.NoCount) != (b.Counters[0][i] == trace.NoCount) {
				return true
			}
		}
	}
	return false
}

func (d *definitions) parameter(name string, kind uint32) uint32 {
	d.parameters = append(d.parameters, parameter{d.strings.of(name), kind})
	return uint32(len(d.parameters) - 1)
}

// defineMarks defines what the program has said, and windows, as parameters.
func (d *definitions) defineMarks(run *trace.Run) {
	levels := 0
	said := make([]bool, len(run.MarkNames))
	for i := range run.Threads {
		for _, p := range run.Threads[i].Phases {
			levels = max(levels, int(p.Depth)+1)
		}
		for _, e := range run.Threads[i].Events {
			said[e.Name] = true
		}
	}
	for level := range levels {
		d.phaseLevel = append(d.phaseLevel, d.parameter(fmt.Sprintf("phase level %d", level+1), parameterString))
	}
	for i, name := range run.MarkNames {
		d.marks = append(d.marks, d.strings.of(name))
		number := uint32(undefined)
		if said[i] {
			number = d.parameter("event "+name, parameterInt)
		}
		d.event = append(d.event, number)
	}
	if run.Windows == nil {
		return
	}
	d.window = d.parameter("moriens window", parameterString)
	for i := range run.Windows {
		w := &run.Windows[i]
		d.windows = append(d.windows, d.strings.of(fmt.Sprintf("%d: %s: %s", i+1, w.Why, w.Reason)))
	}
}

// defineWaits defines the words for waits, and the critical path as a metric that is 1 on the thread that it is on.
func (d *definitions) defineWaits(run *trace.Run) {
	if slices.ContainsFunc(run.Threads, func(t trace.Thread) bool { return len(t.Critical) > 0 }) {
		d.critical = uint32(len(d.classes))
		d.classes = append(d.classes, class{[]uint32{uint32(len(d.metrics))}, metricAsynchronous})
		d.metrics = append(d.metrics, metric{name: d.strings.of("critical path"), mode: metricNext})
	}
	if !slices.ContainsFunc(run.Threads, func(t trace.Thread) bool { return t.Waits.Len() > 0 }) {
		return
	}
	for kind := range trace.WaitKinds {
		d.waitKinds = append(d.waitKinds, d.strings.of(trace.WaitKind(kind).String()))
	}
	for i := range run.Threads {
		d.threadNames = append(d.threadNames, d.strings.of(run.ThreadName(i)))
	}
}
