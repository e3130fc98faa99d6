package prv

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"moriens/trace"
)

// A View is a Paraver configuration (.cfg) that belongs to the trace of a run.
type View struct {
	Name  string // of the file, without its ending
	About string
	lines []line
	run   *trace.Run
}

// The counters whose ratio is the IPC.
const (
	instructions = "PAPI_TOT_INS"
	cycles       = "PAPI_TOT_CYC"
)

// A line is one time line of a configuration: a value over time for each thread.
type line struct {
	name     string
	function string // of the thread's records; empty where the line is made of two others
	events   uint32 // type that function looks at; 0 = it looks at states

	operation string // on the lines of numbers left and right, from 1 on
	left      int
	right     int

	colour  string // mode
	maximum float64
	measure bool // the maximum is what Paraver finds in the trace
	open    bool
}

// Colour modes, and how several values at one pixel become one.
const (
	codeColours = "window_in_code_mode"          // those of the .pcf, by value
	gradient    = "window_in_null_gradient_mode" // zero has none
	drawMaximum = 1
	drawRandom  = 4 // any that is not zero: the maximum of cluster numbers would mean nothing
)

// Views are the configurations that a run has the data for: the cluster of each burst in the cluster's colour, its
// instructions per cycle where those were counted, what calls waited for, and where the critical path is.
func Views(run *trace.Run) []View {
	views := []View{{
		Name: "cluster", About: "clusters over time", run: run,
		lines: []line{{
			name: "moriens: cluster", function: "Last Evt Val", events: typeCluster,
			colour: codeColours, maximum: float64(clusterNoise + len(run.Clusters)), open: true,
		}},
	}}
	if ipc, counted := ipcView(run); counted {
		views = append(views, ipc)
	}
	waits, critical := waitsOf(run)
	if waits {
		views = append(views, View{Name: "waits", About: "what MPI calls waited for, over time", run: run, lines: []line{{
			name: "moriens: waits by kind", function: "Last Evt Val", events: typeWaitKind,
			colour: codeColours, maximum: float64(waitValue(trace.WaitKind(trace.WaitKinds - 1))), open: true,
		}}})
	}
	if critical {
		views = append(views, View{Name: "path", About: "the critical path over time", run: run, lines: []line{{
			name: "moriens: critical path", function: "Last Evt Val", events: typeCritical, colour: gradient, maximum: 1, open: true,
		}}})
	}
	return views
}

func ipcView(run *trace.Run) (view View, counted bool) {
	coding := newCoding(run)
	types := make(map[string]uint32)
	for i, c := range run.Counters {
		types[c.Name] = coding.counters[i]
	}
	if types[instructions] == 0 || types[cycles] == 0 {
		return view, false
	}
	// Counters are written at the end of what they measure, so that the next value is that of the burst; and also of the
	// call before it, where the first line has it zero.
	return View{Name: "ipc", About: "instructions per cycle over time", run: run, lines: []line{
		{name: "moriens: in a burst", function: "Useful", colour: gradient, maximum: 1},
		{name: "moriens: instructions", function: "Next Evt Val", events: types[instructions], colour: gradient, measure: true},
		{name: "moriens: cycles", function: "Next Evt Val", events: types[cycles], colour: gradient, measure: true},
		{name: "moriens: instructions / cycles", operation: "divide", left: 2, right: 3, colour: gradient, measure: true},
		{name: "moriens: IPC", operation: "product", left: 1, right: 4, colour: gradient, measure: true, open: true},
	}}, true
}

// Write writes the configuration.
func (v View) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "#ParaverCFG\nConfigFile.Version: 3.4\nConfigFile.NumWindows: %d\n", len(v.lines))
	fmt.Fprintf(out, "ConfigFile.BeginDescription\nMade by moriens: %s.\nConfigFile.EndDescription\n", v.About)
	for i := range v.lines {
		v.lines[i].write(out, i+1, len(v.run.Worlds))
	}
	return out.Flush()
}

const viewRule = "################################################################################"

func (l *line) write(out *bufio.Writer, number, worlds int) {
	put := func(tag, format string, values ...any) {
		out.WriteString(tag)
		out.WriteByte(' ')
		fmt.Fprintf(out, format, values...)
		out.WriteByte('\n')
	}
	fmt.Fprintf(out, "\n%s\n< NEW DISPLAYING WINDOW %s >\n%s\n", viewRule, l.name, viewRule)
	put("window_name", "%s", l.name)
	single := l.operation == ""
	if single {
		put("window_type", "single")
	} else {
		put("window_type", "composed")
	}
	put("window_id", "%d", number)
	if !single {
		put("window_factors", "%.12f %.12f", 1., 1.)
		put("window_operation", "%s", l.operation)
		put("window_identifiers", "%d %d", l.left, l.right)
	}
	put("window_position_x", "%d", 50+25*number)
	put("window_position_y", "%d", 50+25*number)
	put("window_width", "%d", 900)
	put("window_height", "%d", 300)
	put("window_comm_lines_enabled", "%t", false)
	put("window_flags_enabled", "%t", false)
	put("window_noncolor_mode", "%t", true) // which is the one with colours
	put("window_color_mode", "%s", l.colour)
	if single {
		put("window_logical_filtered", "%t", true)
		put("window_physical_filtered", "%t", false)
		put("window_comm_fromto", "%t", true)
		put("window_comm_tagsize", "%t", true)
		put("window_comm_typeval", "%t", true)
	}
	put("window_units", "Nanoseconds")
	put("window_maximum_y", "%.12f", l.maximum)
	put("window_minimum_y", "%.12f", 0.)
	put("window_compute_y_max", "%t", l.measure)
	put("window_level", "thread")
	put("window_scale_relative", "%.12f", 1.)
	put("window_end_time_relative", "%.12f", 1.)
	put("window_object", "appl { %d, { %s } }", worlds, strings.TrimSuffix(strings.Repeat("All, ", worlds), ", "))
	put("window_begin_time_relative", "%.12f", 0.)
	put("window_open", "%t", l.open)
	draw := drawMaximum
	if l.colour == codeColours {
		draw = drawRandom
	}
	put("window_drawmode", "%d", draw)
	put("window_drawmode_rows", "%d", draw)
	put("window_pixel_size", "%d", 1)
	put("window_labels_to_draw", "%d", 1)
	l.functions(put)
	if l.events != 0 {
		put("window_filter_module", "evt_type 1 %d", l.events)
	}
}

// functions says how the values of threads, tasks and the rest are made: those of a thread by the view's function, the
// others by adding.
func (l *line) functions(put func(tag, format string, values ...any)) {
	var b strings.Builder
	n := 0
	add := func(level, function string) {
		if n++; n > 1 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "{%s, %s}", level, function)
	}
	done := func(tag string) {
		put(tag, "{ %d, { %s } }", n, b.String())
		b.Reset()
		n = 0
	}
	single := l.operation == ""
	if single {
		add("cpu", "Active Thd")
	}
	add("appl", "Adding")
	add("task", "Adding")
	if single {
		add("thread", l.function)
	}
	for _, level := range []string{"node", "system", "workload"} {
		add(level, "Adding")
	}
	if single {
		for _, filter := range []string{"from_obj", "to_obj", "tag_msg", "size_msg", "bw_msg"} {
			add(filter, "All")
		}
		if l.events != 0 {
			add("evt_type", "=")
		} else {
			add("evt_type", "All")
		}
		add("evt_value", "All")
	}
	done("window_selected_functions")
	for _, level := range []string{
		"compose_cpu", "compose_appl", "compose_task", "compose_thread", "compose_node", "compose_system", "compose_workload",
		"topcompose1", "topcompose2",
	} {
		add(level, "As Is")
	}
	done("window_compose_functions")
}
