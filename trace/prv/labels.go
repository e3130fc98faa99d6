package prv

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"moriens/trace"
	"moriens/trace/palette"
)

var stateNames = [...]string{
	"Idle", "Running", "Not created", "Waiting a message", "Blocking Send", "Synchronization", "Test/Probe",
	"Scheduling and Fork/Join", "Wait/WaitAll", "Blocked", "Immediate Send", "Immediate Receive", "I/O",
	"Group Communication", "Tracing Disabled", "Others", "Send Receive", "Memory transfer", "Profiling",
	"On-line analysis", "Remote memory access", "Atomic memory operation", "Memory ordering operation",
	"Distributed locking", "Overhead", "One-sided op", "Startup latency", "Waiting links", "Data copy", "RTT",
	"Allocating memory", "Freeing memory",
}

// The first colours, which states and cluster values share; the clusters' own follow.
var firstColours = [...]palette.Colour{
	clusterEnd:      palette.MPI,
	clusterMissing:  palette.Missing,
	clusterDuration: palette.Filtered,
	clusterRange:    palette.Filtered,
	clusterThresh:   palette.Filtered,
	clusterNoise:    palette.Noise,
}

const labelsHead = `DEFAULT_OPTIONS

LEVEL               THREAD
UNITS               NANOSEC
LOOK_BACK           100
SPEED               1
FLAG_ICONS          ENABLED
NUM_OF_STATE_COLORS 1000
YMAX_SCALE          37


DEFAULT_SEMANTIC

THREAD_FUNC          State As Is


STATES
`

var mpiTypeNames = [...]string{
	"MPI Point-to-point", "MPI Collective Comm", "MPI Other", "MPI One-sided", "MPI I/O",
}

// WriteLabels writes the .pcf that belongs to WriteTrace's .prv of the same run: the labels of states, calls, clusters
// and counters, and the clusters' colours, which Paraver takes for the values of the cluster event.
func WriteLabels(w io.Writer, run *trace.Run) error {
	out := bufio.NewWriter(w)
	c := newCoding(run)
	out.WriteString(labelsHead)
	for i, name := range stateNames {
		fmt.Fprintf(out, "%-4d %s\n", i, name)
	}
	if run.Windows != nil {
		fmt.Fprintf(out, "%-4d Dropped\n", stateDropped)
	}
	out.WriteString("\n\nSTATES_COLOR\n")
	colours := max(len(stateNames), clusterNoise+1+len(run.Clusters))
	for i := range colours {
		colour := palette.Cluster(kindOf(run, int32(i-clusterNoise)))
		if i < len(firstColours) {
			colour = firstColours[i]
		}
		fmt.Fprintf(out, "%-4d {%d,%d,%d}\n", i, colour.R, colour.G, colour.B)
	}
	if c := palette.Dropped; run.Windows != nil && colours <= stateDropped {
		fmt.Fprintf(out, "%-4d {%d,%d,%d}\n", stateDropped, c.R, c.G, c.B)
	}
	writeWaitColours(out, run, colours)
	writeCallLabels(out, c)
	writeCallerLabels(out, c.callers)
	writeCollectiveLabels(out, run)
	writePollLabels(out, run)
	writePathLabels(out, run)
	fmt.Fprintf(out, "\n\nEVENT_TYPE\n9    %d    Cluster ID\nVALUES\n", typeCluster)
	for value, label := range []string{"End", "Missing data", "Filtered", "Range-filtered", "Threshold-filtered", "Noise"} {
		fmt.Fprintf(out, "%-4d %s\n", value, label)
	}
	for i := range run.Clusters {
		x := &run.Clusters[i]
		variant := ""
		if x.VariantOf != 0 {
			variant = fmt.Sprintf(", variant of %d", x.VariantOf)
		}
		fmt.Fprintf(out, "%-4d Cluster %d%s\n", x.ID+clusterNoise, x.ID, variant)
	}
	if err := writeWaitLabels(out, run); err != nil {
		return err
	}
	writeWindowLabels(out, run)
	writeMarkLabels(out, run)
	if len(run.Counters) > 0 {
		out.WriteString("\n\nEVENT_TYPE\n")
		for i, counter := range run.Counters {
			fmt.Fprintf(out, "7    %d    %s", c.counters[i], oneLine(counter.Name))
			if unit := oneLine(counter.Unit); unit != "" {
				fmt.Fprintf(out, " [%s]", unit)
			}
			out.WriteByte('\n')
		}
	}
	return out.Flush()
}

// What typePath is labelled: the second where the run has WholePaths.
const (
	pathLabel      = "Call path"
	wholePathLabel = "Call path, each a place of its own"
)

// writePathLabels names the call paths by their numbers.
func writePathLabels(out *bufio.Writer, run *trace.Run) {
	if len(run.CallPaths) < 2 {
		return
	}
	label := pathLabel
	if run.WholePaths {
		label = wholePathLabel
	}
	fmt.Fprintf(out, "\n\nEVENT_TYPE\n9    %d    %s\nVALUES\n%-4d Unknown\n", typePath, label, 0)
	for i, name := range run.Names() {
		if i > 0 {
			fmt.Fprintf(out, "%-4d %s\n", i, oneLine(name))
		}
	}
}

// kindOf is the cluster whose colour one has.
func kindOf(run *trace.Run, id int32) int32 {
	if id < 1 || int(id) > len(run.Clusters) {
		return id
	}
	return run.Clusters[id-1].Kind()
}

// writeCallLabels names the calls by type and value, those of call paths that end in the same function once.
func writeCallLabels(out *bufio.Writer, c *coding) {
	for t := uint32(typeMPI); t <= typeMPILast; t++ {
		var codes []callCode
		for _, code := range c.calls[min(1, len(c.calls)):] { // path 0 is of no call unless a call has it
			if code.eventType == t {
				codes = append(codes, code)
			}
		}
		if t == typeMPIOther && len(c.calls) > 0 && c.calls[0].name == unknownCall {
			codes = append(codes, c.calls[0])
		}
		slices.SortFunc(codes, func(a, b callCode) int { return int(a.value - b.value) })
		codes = slices.CompactFunc(codes, func(a, b callCode) bool { return a.value == b.value })
		if len(codes) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n\nEVENT_TYPE\n9    %d    %s\nVALUES\n%-4d Outside MPI\n", t, mpiTypeNames[t-typeMPI], 0)
		for _, code := range codes {
			fmt.Fprintf(out, "%-4d %s\n", code.value, code.name)
		}
	}
}

// WriteNames writes the .row: the names of CPUs, nodes, applications, tasks and threads.
func WriteNames(w io.Writer, run *trace.Run) error {
	out := bufio.NewWriter(w)
	level := func(name string, labels []string) {
		fmt.Fprintf(out, "LEVEL %s SIZE %d\n", name, len(labels))
		for _, l := range labels {
			out.WriteString(oneLine(l))
			out.WriteByte('\n')
		}
		out.WriteByte('\n')
	}
	var cpus, nodes, worlds, ranks, threads []string
	for i, n := range run.Nodes {
		name := run.NodeName(i)
		nodes = append(nodes, name)
		for cpu := range max(n.CPUs, 1) {
			cpus = append(cpus, fmt.Sprintf("%d.%s", cpu+1, name))
		}
	}
	if len(run.Nodes) == 0 {
		nodes, cpus = []string{"NODE 1"}, []string{"1.NODE 1"}
	}
	threadCount := make(map[[2]int]int)
	for i := range run.Threads {
		t := &run.Threads[i]
		k := [2]int{t.World, t.Rank}
		threadCount[k] = max(threadCount[k], t.Thread+1)
	}
	for i, world := range run.Worlds {
		name := world.Executable
		if name == "" {
			name = fmt.Sprintf("APPL %d", i+1)
		}
		worlds = append(worlds, name)
		for r := range world.Size {
			label := fmt.Sprintf("Rank %d", r)
			if len(run.Worlds) > 1 {
				label = fmt.Sprintf("World %d rank %d", i, r)
			}
			ranks = append(ranks, label)
			for t := range max(threadCount[[2]int{i, r}], 1) {
				threads = append(threads, fmt.Sprintf("THREAD %d.%d.%d", i+1, r+1, t+1))
			}
		}
	}
	level("CPU", cpus)
	level("NODE", nodes)
	level("APPL", worlds)
	level("TASK", ranks)
	level("THREAD", threads)
	return out.Flush()
}
