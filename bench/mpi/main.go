// Command mpi measures the cost of clustering when the points are spread over several members of a team, and prints
// tables in Markdown:
//
//	make bench-mpi
//
// Members are processes of an MPI job, or goroutines; each has one thread. Each run is a separate job that generates
// its points. Times are from when all members have their points until all have their labels. All runs have to find as
// many clusters and as much noise.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"moriens/bench/timing"
	"moriens/internal/mpix"
)

// A task is points, and an Eps for them.
type task struct {
	points int
	eps    float64
}

var tasks = []task{{1_000_000, .006}, {10_000_000, .004}}

func main() {
	member := flag.Bool("member", false, "be a member of the MPI job that this program was started in")
	local := flag.Int("local", 0, "be so many members in this process")
	points, eps := flag.Int("points", 0, "points of a member's job; of the measurement, 0 = 1,000,000 and 10,000,000"), flag.Float64("eps", .006, "Eps of a member's job, and with -points of the measurement")
	sizes := flag.String("members", "1,2,4", "numbers of members")
	repeats := flag.Int("repeats", 5, "runs of each")
	launcher := flag.String("launcher", "mpirun --oversubscribe -n", "what starts processes; their number comes behind it")
	flag.Parse()
	t := task{*points, *eps}
	var err error
	switch {
	case *member:
		err = asMember(os.Stdout, t)
	case *local > 0:
		err = asMembers(os.Stdout, t, *local)
	default:
		measured := tasks
		if t.points > 0 {
			measured = []task{t}
		}
		err = measure(os.Stdout, measured, *sizes, *launcher, *repeats)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mpi:", err)
		os.Exit(1)
	}
}

// A transport is a way to start members.
type transport struct {
	name    string
	command func(members int) []string
}

// A row is what runs of one number of members have taken.
type row struct {
	transport        string
	task             task
	members          int
	low, mid, high   float64 // seconds
	processor, bytes float64 // of all members; medians
	stages           []stage // medians of the seconds
}

func measure(out io.Writer, tasks []task, sizes, launcher string, repeats int) error {
	if repeats < 1 {
		return fmt.Errorf("-repeats %d: want at least 1", repeats)
	}
	members, err := timing.Numbers("-members", sizes)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	transports := []transport{{"goroutines", func(n int) []string { return []string{self, "-local", strconv.Itoa(n)} }}}
	if name := mpix.Library(); name != "" {
		transports = append(transports, transport{name, func(n int) []string {
			return append(strings.Fields(launcher), strconv.Itoa(n), self, "-member")
		}})
	}
	var rows []row
	for _, t := range tasks {
		var found *result
		for _, way := range transports {
			for _, n := range members {
				r, first, err := repeat(way, t, n, repeats)
				if err != nil {
					return err
				}
				if found == nil {
					found = first
				}
				if first.Clusters != found.Clusters || first.Noise != found.Noise {
					return fmt.Errorf("%s, %d members: %d clusters and %d points of noise, others %d and %d", way.name, n, first.Clusters, first.Noise, found.Clusters, found.Noise)
				}
				rows = append(rows, r)
			}
		}
	}
	writeTables(out, rows, runtime.NumCPU())
	return nil
}

// repeat runs one thing some times.
func repeat(way transport, t task, members, repeats int) (row, *result, error) {
	var results []result
	command := append(way.command(members), "-points", strconv.Itoa(t.points), "-eps", fmt.Sprint(t.eps))
	for range repeats {
		text, err := timing.Output([]string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}, command...)
		if err != nil {
			return row{}, nil, err
		}
		var r result
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return row{}, nil, fmt.Errorf("%s says %q: %w", way.name, text, err)
		}
		results = append(results, r)
	}
	middle := func(of func(r *result) float64) float64 {
		list := make([]float64, len(results))
		for i := range results {
			list[i] = of(&results[i])
		}
		_, mid, _ := timing.Quartiles(list)
		return mid
	}
	seconds := func(r *result) float64 { return r.Seconds }
	byTime := slices.SortedFunc(slices.Values(results), func(a, b result) int { return int(1e6 * (a.Seconds - b.Seconds)) })
	made := row{transport: way.name, task: t, members: members, low: byTime[0].Seconds, mid: middle(seconds), high: byTime[len(byTime)-1].Seconds,
		processor: middle(func(r *result) float64 { return r.Processor }),
		bytes: middle(func(r *result) float64 {
			sum := 0.0
			for _, s := range r.Stages {
				sum += float64(s.Bytes)
			}
			return sum
		})}
	for i, s := range results[0].Stages {
		s.Seconds = middle(func(r *result) float64 { return r.Stages[i].Seconds })
		made.stages = append(made.stages, s)
	}
	return made, &results[0], nil
}

// writeTables writes what was measured. Of several members no more can be at work at a time than there are cores:
// efficiency is the share of those that one member's time would fill.
func writeTables(out io.Writer, rows []row, cores int) {
	fmt.Fprintf(out, "| points | members | | seconds (least – most) | efficiency on %d cores | processor s | MB exchanged | bytes per point |\n|---|---|---|---|---|---|---|---|\n", cores)
	for _, r := range rows {
		alone := slices.IndexFunc(rows, func(o row) bool { return o.transport == r.transport && o.task == r.task && o.members == 1 })
		efficiency, over := "", ""
		if alone >= 0 {
			efficiency = fmt.Sprintf("%.0f %%", 100*rows[alone].mid/(r.mid*float64(min(r.members, cores))))
		}
		if r.members > cores {
			over = ", more than cores"
		}
		fmt.Fprintf(out, "| %d | %d%s | %s | %.3f (%.3f – %.3f) | %s | %.2f | %.2f | %.2f |\n", r.task.points, r.members, over, r.transport,
			r.mid, r.low, r.high, efficiency, r.processor, r.bytes/1e6, r.bytes/float64(r.task.points))
	}
	for _, t := range tasksOf(rows) {
		writeStages(out, t, slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.task != t }))
	}
}

func tasksOf(rows []row) (list []task) {
	for _, r := range rows {
		if !slices.Contains(list, r.task) {
			list = append(list, r.task)
		}
	}
	return list
}

// writeStages writes what the stages of one task have taken, a column for each number of members.
func writeStages(out io.Writer, t task, rows []row) {
	fmt.Fprintf(out, "\n| stage: s, MB, calls |")
	var names []string
	for _, r := range rows {
		fmt.Fprintf(out, " %s, %d points, %d |", r.transport, t.points, r.members)
		for _, s := range r.stages {
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
	}
	fmt.Fprintf(out, "\n|---|%s\n", strings.Repeat("---|", len(rows)))
	for _, name := range names {
		fmt.Fprintf(out, "| %s |", name)
		for _, r := range rows {
			if i := slices.IndexFunc(r.stages, func(s stage) bool { return s.Name == name }); i >= 0 {
				s := r.stages[i]
				fmt.Fprintf(out, " %.3f, %.2f, %d |", s.Seconds, float64(s.Bytes)/1e6, s.Calls)
			} else {
				fmt.Fprint(out, " - |")
			}
		}
		fmt.Fprintln(out)
	}
}
