package levels

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"moriens/analysis/program"
	"moriens/analysis/program/text"
	"moriens/analysis/program/thesis"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/rundir"
)

// Program is the structure of a run as a program: functions, loops, conditions, computing and calls. Its readings are
// those by the order of lines, where machine code was there, and by the published method. It is collective; the first
// member alone has all readings.
func Program(run *trace.Run, owners team.Threads, workers int) (*program.Program, error) {
	in := programInput(run, owners, workers)
	if err := moveMessages(run, owners, in); err != nil {
		return nil, err
	}
	return readProgram(in)
}

func readProgram(in *program.Input) (*program.Program, error) {
	s, err := program.Build(in)
	if err != nil {
		return nil, err
	}
	p := s.Solve()
	p.Readings = new(program.Readings)
	if p.Basis != program.ByOrder {
		if s, err = s.ByOrder(); err != nil {
			return nil, err
		}
		if in.Team.Rank() == 0 {
			if err := p.SetOrder(s.Solve()); err != nil {
				return nil, err
			}
		}
	}
	p.Readings.Thesis, err = thesis.Find(in)
	return p, err
}

// smallShare is the share of all computing time below which computation is summed up in the text of a program.
const smallShare = .005

// DescribeProgram is what the files of a run directory say of a program.
func DescribeProgram(p *program.Program) (*rundir.Structured, error) {
	p, err := program.Fold(p, rundir.ProgramBytes)
	if err != nil {
		return nil, err
	}
	var json, lines bytes.Buffer
	if err := p.Write(&json); err != nil {
		return nil, err
	}
	if err := text.Write(&lines, p.Select(program.View{MinShare: smallShare}), text.Options{}); err != nil {
		return nil, err
	}
	return &rundir.Structured{JSON: json.Bytes(), Text: lines.String()}, nil
}

func programInput(run *trace.Run, owners team.Threads, workers int) *program.Input {
	partners, sampled := partnersOf(run)
	in := &program.Input{Workers: workers, Team: owners, Sampled: sampled, CollectivesSampled: run.Traffic != nil}
	for i := range run.Worlds {
		in.Worlds = append(in.Worlds, run.Worlds[i].Size)
	}
	for _, c := range run.Counters {
		in.Counters = append(in.Counters, c.Name)
	}
	f := &functions{of: make(map[functionKey]int), code: CodesOf(run)}
	f.tails, f.unnamed = tailsOf(run, f.code), unnamedOf(run.CallPaths, &f.code)
	for i := range run.CallPaths {
		in.Paths = append(in.Paths, f.path(&run.CallPaths[i]))
	}
	completeRecursions(in.Paths)
	in.Functions = f.list
	in.Threads = make([]program.Thread, len(run.Threads))
	each(run, workers, func(i int) {
		t := &run.Threads[i]
		with := partners[[2]int{t.World, t.Rank}]
		in.Threads[i] = programThread(run, t, with != nil)
		if with != nil && with.thread == i && owners.Mine(i) {
			in.Threads[i].Moved = append(in.Threads[i].Moved, with.moved(run, t)...)
		}
	})
	return in
}

// functions numbers the functions that have machine code.
type functions struct {
	list    []program.Function
	of      map[functionKey]int
	code    Codes
	tails   *tails
	unnamed *unnamed
}

type functionKey struct {
	module, buildID string
	entry           uint64
	name, file      string
	line            int
}

// fortranMain is the main function of a Fortran program. One of C calls it, which has no line of it.
const fortranMain = "MAIN__"

// path is a call path from the main function on.
func (f *functions) path(p *trace.CallPath) program.Path {
	to := program.Path{MPI: p.Function, Poll: trace.IsPoll(p.Function), Lost: len(p.Frames) == 0}
	frames := p.Frames
	for k := range min(startFrames, len(frames)) { // the outermost one may have no name
		if n := len(frames) - 1 - k; isStart(&frames[n]) {
			frames, to.Whole = frames[:n], true
			break
		}
	}
	for n := len(frames); n > 0 && isStart(&frames[n-1]); n-- {
		frames = frames[:n-1]
	}
	if n := len(frames); n > 1 && frames[n-1].Function == "main" && frames[n-2].Function == fortranMain {
		frames = frames[:n-1]
	}
	folded, chains := false, [][]program.Step{nil}
	for i := range slices.Backward(frames) {
		if frames[i].Function == trace.Folded && !frames[i].Located() {
			folded = true
			continue
		}
		step := f.step(&frames[i])
		var next *trace.Frame
		if i > 0 {
			next = &frames[i-1]
		}
		cut := next != nil && next.Function == trace.Folded
		step.Again = !cut && f.tails.again(&frames[i], next, p.Function)
		for k := range chains {
			chains[k] = append(chains[k], step)
		}
		if folded {
			folded, to.Recursion = false, step.Function+1
		}
		if cut {
			continue
		}
		between := f.tails.between(&frames[i], next, p.Function)
		if len(between)*len(chains) > maxChains {
			between, to.Unclear = between[:1], true
		}
		if i == len(frames)-1 && frames[i].Function == "main" && len(between) > 0 && between[0][0].Place.Function == fortranMain {
			chains = [][]program.Step{nil} // it ends with this call
		}
		chains = f.through(chains, between)
	}
	to.Steps, to.Others = chains[0], chains[1:]
	return to
}

// through lets each chain of calls go on by each chain of tail calls.
func (f *functions) through(chains [][]program.Step, by []chain) (list [][]program.Step) {
	if len(by) == 0 {
		return chains
	}
	for _, steps := range chains {
		for _, sites := range by {
			x := slices.Clone(steps)
			for _, s := range sites {
				x = append(x, f.step(s.Place))
			}
			list = append(list, x)
		}
	}
	return list
}

// completeRecursions gives call paths that begin inside of a recursion, as it is deeper than paths are long, the calls
// that lead to it on all whole paths.
func completeRecursions(paths []program.Path) {
	type site struct {
		function int
		offset   uint64
		file     string
		line     int
	}
	siteOf := func(s *program.Step) site { return site{s.Function, s.Offset, s.File, s.Line} }
	same := func(a, b []program.Step) bool {
		return slices.EqualFunc(a, b, func(x, y program.Step) bool { return siteOf(&x) == siteOf(&y) })
	}
	before := make(map[site][]program.Step)
	differ := make(map[site]bool)
	for i := range paths {
		if !paths[i].Whole {
			continue
		}
		seen := make(map[site]bool)
		for k := range paths[i].Steps {
			at := siteOf(&paths[i].Steps[k])
			if seen[at] {
				continue
			}
			seen[at] = true
			if list, ok := before[at]; ok && !same(list, paths[i].Steps[:k]) {
				differ[at] = true
			}
			before[at] = paths[i].Steps[:k]
		}
	}
	for i := range paths {
		p := &paths[i]
		if p.Whole || p.Recursion == 0 || len(p.Steps) == 0 {
			continue
		}
		at := siteOf(&p.Steps[0])
		if list, ok := before[at]; ok && !differ[at] {
			p.Steps, p.Whole = slices.Concat(list, p.Steps), true
			for k := range p.Others {
				p.Others[k] = slices.Concat(list, p.Others[k])
			}
		}
	}
}

func (f *functions) step(x *trace.Frame) program.Step {
	key := functionKey{module: x.Module, buildID: x.BuildID, name: x.Function, file: x.FirstFile, line: x.FirstLine}
	s := program.Step{Offset: x.Offset, File: x.File, Line: x.Line}
	if x.Module == "" { // an address, which is another one in each process
		s.Offset = 0
	}
	if len(x.Inlined) > 0 {
		outer := &x.Inlined[0]
		key.name, key.file, key.line = outer.Function, outer.FirstFile, outer.FirstLine
		for k := range x.Inlined {
			inner := x.Function
			if k+1 < len(x.Inlined) {
				inner = x.Inlined[k+1].Function
			}
			// A function of which the compiler has inlined the beginning alone is inlined into its own rest, at its first line.
			if y := &x.Inlined[k]; inner == y.Function && y.Line <= y.FirstLine {
				continue
			}
			s.Scopes = append(s.Scopes, program.Inlined{Function: inner, CallFile: x.Inlined[k].File, CallLine: x.Inlined[k].Line})
		}
	}
	name, file, line := key.name, key.file, key.line
	holder, code := f.code.At(x)
	if holder != nil && holder.Entry != 0 {
		key = functionKey{module: x.Module, buildID: x.BuildID, entry: holder.Entry}
	}
	if name == "" && x.Module != "" && holder != nil && holder.Entry != 0 {
		name = frameID{module: x.Module, offset: holder.Entry}.name()
	}
	if id, is := f.code.idOf(x); is {
		id = f.unnamed.root(id)
		name = id.name()
		key.name = name
	}
	n, ok := f.of[key]
	if !ok {
		n = len(f.list)
		f.of[key] = n
		f.list = append(f.list, program.Function{Name: nameOf(x, name), File: file, Line: line, Code: code, Unknown: f.code.Unknown(x)})
	}
	s.Function = n
	return s
}

// nameOf is what a function is called; one without a name is so by its module.
func nameOf(x *trace.Frame, name string) string {
	switch {
	case name == "" && x.Module != "":
		return x.Module + "(?)"
	case name == "" && x.Located():
		return "[no file]"
	}
	return name
}

// startFrames is how many frames there are at most outside of the first one that is surely of what starts a program.
const startFrames = 2

// isStart reports whether a frame is of what starts programs and threads, outside of the main function.
func isStart(f *trace.Frame) bool {
	switch f.Function {
	case "_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "start_thread", "clone", "clone3", "__clone", "__clone3":
		return true
	}
	name := filepath.Base(f.Module)
	for _, system := range []string{"libc.so", "libc-", "libpthread", "ld-linux", "ld-musl", "libc.musl"} {
		if strings.HasPrefix(name, system) {
			return true
		}
	}
	return false
}

func programThread(run *trace.Run, t *trace.Thread, counted bool) program.Thread {
	c, b := &t.Calls, &t.Bursts
	to := program.Thread{
		World: t.World, Rank: t.Rank, Thread: t.Thread,
		Calls:  program.Calls{Path: c.Path, EnterNS: c.EnterNS, ExitNS: c.ExitNS, Count: c.Count},
		Bursts: program.Bursts{Before: b.Before, After: b.After, StartNS: b.StartNS, DurationNS: b.DurationNS, Cluster: b.Kinds(), Counters: b.Counters},
		Cut:    isCut(run, t),
		Lost:   len(t.Lost) > 0 || isGappy(t),
	}
	if n := t.Waits.Len(); n > 0 {
		late := make([]int64, c.Len())
		for k, call := range t.Waits.Call {
			late[call] = t.Waits.UntilNS[k] - c.EnterNS[call]
		}
		to.Calls.LateNS = late
	}
	to.Moved = movedOf(run, t, counted)
	return to
}

// isCut reports whether a thread ended in the middle: the last call of a rank's main thread is MPI_Finalize.
func isCut(run *trace.Run, t *trace.Thread) bool {
	n := t.Calls.Len()
	if n == 0 {
		return false
	}
	return t.Calls.Unfinished || t.Thread == 0 && run.CallPaths[t.Calls.Path[n-1]].Function != "MPI_Finalize" && run.CallPaths[t.Calls.Path[0]].Function != ""
}

// partners are with whom a rank has exchanged messages, as it has counted them itself.
type partners struct {
	counted iter.Seq[trace.TrafficPartner]
	thread  int // the first one of the rank, index into Run.Threads
}

// partnersOf are those of the ranks that have counted them, by world and rank, where not all messages are known one by
// one; sampled = others have not.
func partnersOf(run *trace.Run) (by map[[2]int]*partners, sampled bool) {
	if run.Traffic == nil {
		return nil, false
	}
	by = make(map[[2]int]*partners)
	for i := range run.Traffic.Ranks {
		r := &run.Traffic.Ranks[i]
		if r.Partners == nil {
			sampled = true
			continue
		}
		by[[2]int{r.World, r.Rank}] = &partners{r.Partners, -1}
	}
	for i := range run.Threads {
		t := &run.Threads[i]
		if p := by[[2]int{t.World, t.Rank}]; p != nil && (p.thread < 0 || t.Thread < run.Threads[p.thread].Thread) {
			p.thread = i
		}
	}
	return by, sampled
}

// moved is what the rank of a thread has counted.
func (p *partners) moved(run *trace.Run, t *trace.Thread) (list []program.Moved) {
	for x := range p.counted {
		m := program.Moved{
			Path: x.Path, From: x.Kind == trace.Received, World: x.PeerWorld == int32(t.World), Peer: x.Peer, Root: -1, Comm: communicatorName(run, x.Comm),
			Count: x.Count, Bytes: x.Bytes, Least: x.Least, Most: x.Most,
		}
		if x.Others {
			m.World, m.Peer = true, program.OtherPeers
		}
		list = append(list, m)
	}
	return list
}

// movedOf is what the calls of a thread moved, by call path and peer. Messages that its rank has counted are left out.
func movedOf(run *trace.Run, t *trace.Thread, counted bool) (list []program.Moved) {
	type key struct {
		path       uint32
		from       bool
		peer, root int32
		world      bool
		comm       int32
	}
	at := make(map[key]int)
	add := func(k key, bytes int64) {
		n, ok := at[k]
		if !ok {
			n = len(list)
			at[k] = n
			list = append(list, program.Moved{
				Path: k.path, From: k.from, World: k.world, Peer: k.peer, Root: k.root, Comm: communicatorName(run, k.comm), Group: groupOf(run, k.comm), Least: math.MaxInt64,
			})
		}
		m := &list[n]
		m.Count++
		m.Bytes += bytes
		m.Least, m.Most = min(m.Least, bytes), max(m.Most, bytes)
	}
	x := &t.Transfers
	for k := range x.Len() {
		from := x.Kind[k] == trace.Received
		if counted || !from && x.Kind[k] != trace.Sent {
			continue
		}
		world := x.PeerWorld == nil || x.PeerWorld[k] == int32(t.World)
		add(key{t.Calls.Path[x.Call[k]], from, x.Peer[k], -1, world, x.Comm[k]}, x.Bytes[k])
	}
	g := &t.Collectives
	for k := range g.Len() {
		if g.Comm[k] >= 0 && run.Communicators[g.Comm[k]].File {
			continue
		}
		add(key{t.Calls.Path[g.Call[k]], false, program.NoPeer, max(-1, g.Root[k]), true, g.Comm[k]}, max(g.Sent[k], g.Received[k]))
	}
	return list
}

// communicatorName says which communicator it is, if not that of all ranks of a world.
func communicatorName(run *trace.Run, number int32) string {
	if number < 0 {
		return ""
	}
	c := &run.Communicators[number]
	switch {
	case c.Inter:
		return "an intercommunicator"
	case len(c.Ranks) == 1:
		return "MPI_COMM_SELF"
	case len(c.Ranks) < run.Worlds[c.World].Size:
		return fmt.Sprintf("%d of %d ranks", len(c.Ranks), run.Worlds[c.World].Size)
	}
	return ""
}

// groupOf are the ranks of a communicator that does not have all of its world, and more than one.
func groupOf(run *trace.Run, number int32) []int {
	if number < 0 {
		return nil
	}
	c := &run.Communicators[number]
	if c.Inter || len(c.Ranks) < 2 || len(c.Ranks) >= run.Worlds[c.World].Size {
		return nil
	}
	return slices.Sorted(slices.Values(c.Ranks))
}
