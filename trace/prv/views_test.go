package prv

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"moriens/internal/golden"
	"moriens/trace"
	"moriens/trace/tracetest"
)

// counted is the small run with the two counters of the IPC.
func counted() *trace.Run {
	run := tracetest.Small()
	run.Counters = []trace.Counter{{Name: cycles}, {Name: instructions}}
	return run
}

func TestViews(t *testing.T) {
	run := counted()
	run.Threads[0].Waits = trace.Waits{Call: []uint32{3}, Kind: []trace.WaitKind{trace.LateSender}, UntilNS: []int64{5_100_000}, For: []int32{1}}
	run.Threads[1].Critical = []trace.Stretch{{BeginNS: 2_000, EndNS: 9_100_000}}
	all := make(map[string][]map[string]string)
	for _, v := range Views(run) {
		var b bytes.Buffer
		if err := v.Write(&b); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, v.Name+".cfg", b.Bytes())
		windows, err := parseConfiguration(b.String(), len(run.Worlds))
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		if windows[len(windows)-1]["window_open"] != "true" {
			t.Errorf("%s: the last window does not open", v.Name)
		}
		if _, err := parseConfiguration(strings.Replace(b.String(), "window_level thread", "window_level threads", 1), len(run.Worlds)); err == nil {
			t.Error("the parser takes anything")
		}
		all[v.Name] = windows
	}
	if len(all) != 4 {
		t.Fatalf("views %v, want four", all)
	}
	waits, path := all["waits"][0], all["path"][0]
	if waits["window_filter_module"] != "evt_type 1 90000104" || waits["window_maximum_y"] != "1011.000000000000" { // kind 11, the last one
		t.Errorf("the view of waits looks at %q, to %s", waits["window_filter_module"], waits["window_maximum_y"])
	}
	if path["window_filter_module"] != "evt_type 1 90000106" || path["window_maximum_y"] != "1.000000000000" {
		t.Errorf("the view of the critical path looks at %q, to %s", path["window_filter_module"], path["window_maximum_y"])
	}
	cluster := all["cluster"][0]
	if got := cluster["window_filter_module"]; got != "evt_type 1 90000001" {
		t.Errorf("the cluster view looks at %q", got)
	}
	if got := cluster["window_maximum_y"]; got != "7.000000000000" { // cluster 2 is the value 7
		t.Errorf("the cluster view ends at %s", got)
	}
}

// A run that waits, but has no critical path, and the other way round, has the view of the one alone.
func TestViewsOfWaits(t *testing.T) {
	run := tracetest.Waiting()
	for i := range run.Threads {
		run.Threads[i].Critical = nil
	}
	names := func(views []View) (list []string) {
		for _, v := range views {
			list = append(list, v.Name)
		}
		return list
	}
	if got := names(Views(run)); !slices.Equal(got, []string{"cluster", "waits"}) {
		t.Errorf("views %v", got)
	}
	run = tracetest.Waiting()
	for i := range run.Threads {
		run.Threads[i].Waits = trace.Waits{}
	}
	if got := names(Views(run)); !slices.Equal(got, []string{"cluster", "path"}) {
		t.Errorf("views %v", got)
	}
}

func TestNoIPCWithoutItsCounters(t *testing.T) {
	run := counted()
	run.Counters = run.Counters[:1]
	if views := Views(run); len(views) != 1 || views[0].Name != "cluster" {
		t.Errorf("views %v", views)
	}
}

func TestViewsReportWriteErrors(t *testing.T) {
	if err := Views(counted())[0].Write(&failing{100}); err == nil {
		t.Error("no error")
	}
}

// What a line of a configuration may say, from Paraver's own reader of them (libparaver-api, 4.x). Lines of other tags
// it passes over, so here they are a fault.
var (
	aNumber   = `-?\d+(\.\d+)?`
	aFlag     = `(true|false)`
	aLevel    = `(cpu|appl|task|thread|node|system|workload|compose_cpu|compose_appl|compose_task|compose_thread|compose_node|compose_system|compose_workload|topcompose1|topcompose2|from_obj|to_obj|tag_msg|size_msg|bw_msg|evt_type|evt_value)`
	aFunction = `(Active Thd|Adding|State As Is|Useful|Last Evt Val|Next Evt Val|As Is|All|None|=)`
	aSet      = `\{ \d+, \{ \{` + aLevel + `, ` + aFunction + `\}(, \{` + aLevel + `, ` + aFunction + `\})* \} \}`

	grammar = map[string]string{
		"window_name": `.+`, "window_type": `(single|composed)`, "window_id": `\d+`,
		"window_factors": aNumber + ` ` + aNumber, "window_operation": `(add|product|substract|divide|maximum|minimum)`, "window_identifiers": `\d+ \d+`,
		"window_position_x": `\d+`, "window_position_y": `\d+`, "window_width": `\d+`, "window_height": `\d+`,
		"window_comm_lines_enabled": aFlag, "window_flags_enabled": aFlag, "window_noncolor_mode": aFlag,
		"window_color_mode":       `window_in_(code|gradient|null_gradient|alternative_gradient|punctual|fused_lines)_mode`,
		"window_logical_filtered": aFlag, "window_physical_filtered": aFlag, "window_comm_fromto": aFlag, "window_comm_tagsize": aFlag, "window_comm_typeval": aFlag,
		"window_units":     `(Nanoseconds|Microseconds|Milliseconds|Seconds|Minutes|Hours|Days)`,
		"window_maximum_y": aNumber, "window_minimum_y": aNumber, "window_compute_y_max": aFlag,
		"window_level":          `(workload|appl|task|thread|system|node|cpu)`,
		"window_scale_relative": aNumber, "window_end_time_relative": aNumber, "window_begin_time_relative": aNumber,
		"window_object": `appl \{ \d+, \{ (All|None)(, (All|None))* \} \}`,
		"window_open":   aFlag, "window_drawmode": `[0-7]`, "window_drawmode_rows": `[0-7]`, "window_pixel_size": `\d+`, "window_labels_to_draw": `[0-2]`,
		"window_selected_functions": aSet, "window_compose_functions": aSet,
		"window_filter_module": `evt_(type|value) \d+( \d+)+`,
	}
	ofSingle   = []string{"window_logical_filtered", "window_physical_filtered", "window_comm_fromto", "window_comm_tagsize", "window_comm_typeval"}
	ofComposed = []string{"window_factors", "window_operation", "window_identifiers"}
)

// parseConfiguration reads a configuration strictly, and returns the lines of each of its windows.
func parseConfiguration(text string, worlds int) ([]map[string]string, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 3 || lines[0] != "#ParaverCFG" || lines[1] != "ConfigFile.Version: 3.4" {
		return nil, errors.New("header")
	}
	count, err := strconv.Atoi(strings.TrimPrefix(lines[2], "ConfigFile.NumWindows: "))
	if err != nil {
		return nil, err
	}
	var views []map[string]string
	described := false
	for i, line := range lines[3:] {
		tag, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "ConfigFile.BeginDescription", line == "ConfigFile.EndDescription":
			described = !described
		case described:
			if grammar[tag] != "" || tag == "<" {
				return nil, fmt.Errorf("line %d: the description begins with a tag", i+4)
			}
		case line == "", line[0] == '#':
		case tag == "<":
			if !regexp.MustCompile(`^NEW DISPLAYING WINDOW .+ >$`).MatchString(rest) {
				return nil, fmt.Errorf("line %d: %q", i+4, line)
			}
			views = append(views, make(map[string]string))
		case len(views) == 0:
			return nil, fmt.Errorf("line %d: %q before any window", i+4, line)
		case grammar[tag] == "":
			return nil, fmt.Errorf("line %d: no tag %q", i+4, tag)
		default:
			v := views[len(views)-1]
			if _, twice := v[tag]; twice {
				return nil, fmt.Errorf("line %d: %s a second time", i+4, tag)
			}
			if !regexp.MustCompile(`^` + grammar[tag] + `$`).MatchString(rest) {
				return nil, fmt.Errorf("line %d: %s says %q", i+4, tag, rest)
			}
			if _, typed := v["window_type"]; !typed && tag != "window_name" && tag != "window_type" {
				return nil, fmt.Errorf("line %d: %s before the window has a type", i+4, tag)
			}
			v[tag] = rest
		}
	}
	if described || len(views) != count {
		return nil, fmt.Errorf("%d windows, want %d", len(views), count)
	}
	for i, v := range views {
		if err := checkView(v, i+1, worlds); err != nil {
			return nil, fmt.Errorf("window %d: %w", i+1, err)
		}
	}
	return views, nil
}

func checkView(v map[string]string, number, worlds int) error {
	single := v["window_type"] == "single"
	for tag := range grammar {
		_, has := v[tag]
		want := true
		switch {
		case slices.Contains(ofSingle, tag):
			want = single
		case slices.Contains(ofComposed, tag):
			want = !single
		case tag == "window_filter_module":
			want = strings.Contains(v["window_selected_functions"], "{evt_type, =}")
		}
		if has != want {
			return fmt.Errorf("%s: %t, want %t", tag, has, want)
		}
	}
	if v["window_id"] != strconv.Itoa(number) {
		return fmt.Errorf("its number is %s", v["window_id"])
	}
	for tag, want := range map[string]int{"window_selected_functions": map[bool]int{true: 14, false: 5}[single], "window_compose_functions": 9} {
		if got := strings.Count(v[tag], "{") - 2; got != want || !strings.HasPrefix(v[tag], fmt.Sprintf("{ %d,", want)) {
			return fmt.Errorf("%s: %s", tag, v[tag])
		}
	}
	if got := strings.Count(v["window_object"], "All"); got != worlds || !strings.HasPrefix(v["window_object"], fmt.Sprintf("appl { %d,", worlds)) {
		return fmt.Errorf("window_object: %s, of %d applications", v["window_object"], worlds)
	}
	if f := strings.Fields(v["window_filter_module"]); len(f) > 0 && f[1] != strconv.Itoa(len(f)-2) {
		return fmt.Errorf("window_filter_module: %v", f)
	}
	for _, parent := range strings.Fields(v["window_identifiers"]) {
		if n, _ := strconv.Atoi(parent); n < 1 || n >= number {
			return fmt.Errorf("made of window %s, which is not before it", parent)
		}
	}
	return nil
}
