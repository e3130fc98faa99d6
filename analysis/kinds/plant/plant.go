// Package plant generates bursts whose kinds of computation are known, and scores a clustering against them. Only tests
// and benchmarks import it.
//
// In come a program, phases of steps between MPI calls that all ranks execute, and the machine that it runs on: slow
// ranks, other tasks on the cores. Out come columns over bursts, times in nanoseconds, thread after thread, and per
// burst the planted kind. The same Params give the same bursts everywhere.
package plant

import (
	"math"
	"math/rand/v2"

	"moriens/analysis/grouping"
	"moriens/analysis/sequence"
	"moriens/analysis/space"
)

// CounterNames are the counters of a Run with Params.Counters, in this order.
var CounterNames = []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"}

const (
	cyclesPerNS      = 3    // of a core that is not slow
	instructionNoise = 2e-4 // of a count of the same work, relative
	coldCache        = .06  // cycles that a burst takes longer at most after another task had its core, relative
	leastLost        = 3
	mostLost         = 30
)

// Params are a program and the machine that it runs on.
type Params struct {
	Seed   uint64
	Ranks  int
	Kinds  []Kind
	Phases []Phase
	Spread float64 // standard deviation of the ranks' shares of a kind's work, ln units
	Slow   []Slow
	Load   Load
	// Lost is how many stretches each rank loses of its bursts, each of 3 to 30.
	Lost int
	// Counters adds columns of instructions and cycles. Noise and other tasks change cycles and time, never instructions.
	Counters bool
	// Anchors makes the last call of each iteration one of all ranks.
	Anchors bool
}

// A Kind is a computation.
type Kind struct {
	MedianNS float64 // where nothing disturbs it, on a rank with a share of 1
	Shape    Shape   // of the durations round that; nil = all the same
	IPC      float64 // instructions per cycle; 0 = 1
}

// A Phase repeats its steps.
type Phase struct {
	Iterations int
	Steps      []Step
}

// A Step is a burst and the MPI call that ends it.
type Step struct {
	// Kinds are indices into Params.Kinds: one for all ranks, or several, of which the first ranks do the first, the last
	// ranks the last.
	Kinds []int32
	Drawn bool   // every rank draws one of Kinds each time
	Call  uint32 // id of the call path
	// CallOf, if above 1, is how many call paths the step has, from Call on: rank r makes r modulo that.
	CallOf uint32
}

// Slow is a rank that takes longer for all that it does in a part of the run.
type Slow struct {
	Rank     int
	Factor   float64 // 1.3 = 30 % longer
	From, To float64 // parts of the rank's bursts, 0–1
}

// A Load is other tasks on the cores: a burst loses its core and waits until others have had their turns.
type Load struct {
	// SliceNS is the computing time, least and most, for which the scheduler leaves a rank its core, from each MPI call
	// on; 0 = without end. A share Early of slices is half as long. So long bursts are disturbed nearly always, and those
	// below half a slice never.
	SliceNS [2]float64
	Early   float64
	WakeNS  float64 // mean computing time until a task wakes up that is due before this one, after any time; 0 = never
	Share   float64 // of the bursts lose their core once, however long they are
	Queue   int     // up to so many others have their turn first, each number alike; below 1 means 1
	Turn    Turn    // nil = none is disturbed
}

// A Turn draws how long another task keeps the core, in ns.
type Turn func(*rand.Rand) float64

// Slices are turns between two times, as CFS gives them to tasks that wake up and sleep in between.
func Slices(leastNS, mostNS float64) Turn {
	return func(r *rand.Rand) float64 { return leastNS + (mostNS-leastNS)*r.Float64() }
}

// Ticks are turns of one to so many ticks of the kernel's clock, as tasks have that only compute.
func Ticks(tickNS float64, most int) Turn {
	return func(r *rand.Rand) float64 { return tickNS * float64(1+r.IntN(most)) }
}

// Exponential are turns of tasks that stop by themselves, after any time.
func Exponential(meanNS float64) Turn {
	return func(r *rand.Rand) float64 { return meanNS * r.ExpFloat64() }
}

// What other tasks do on two cores.
var (
	// Quiet is a core for each rank, and daemons.
	Quiet = Load{WakeNS: 400e6, Turn: Exponential(150e3)}
	// Load4 is two tasks a core that sleep and wake up: the core is lost after any time, for one turn. Of bursts of 1.1 to
	// 4.1 ms 91 to 71 % are within 5 % of their median.
	Load4 = Load{WakeNS: 12e6, Queue: 1, Turn: Slices(1e6, 6e6)}
	// Load20 is ten tasks a core that sleep and wake up: half of the bursts of 4 ms are disturbed, and most of the time
	// is.
	Load20 = Load{WakeNS: 6e6, Queue: 9, Turn: Slices(1e6, 4e6)}
	// Storm is the same with twice as many that wake up: over half of all bursts are disturbed, many of them several
	// times.
	Storm = Load{WakeNS: 3e6, Queue: 9, Turn: Slices(1e6, 4e6)}
	// EightRanks are alone on the two cores, and spin where they wait: as testdata/miniapp/kinds.c does under Linux 6.18
	// with a clock of 250 Hz. Of its bursts of 4.1 ms 86 % were disturbed, of those of 1.1 ms 4 %.
	EightRanks = Load{SliceNS: [2]float64{3.2e6, 4.3e6}, Early: .3, Queue: 6, Turn: Slices(1e6, 6e6)}
	// TwentyTasks are these ranks, and twelve tasks that only compute, whose turns are whole ticks. Of the bursts of 4.1
	// ms 99 % were disturbed.
	TwentyTasks = Load{SliceNS: [2]float64{3.2e6, 4.1e6}, Early: .25, Queue: 10, Turn: Ticks(4e6, 1)}
)

// A Run is planted bursts: columns, thread after thread, each thread's in time order.
type Run struct {
	DurationNS    []int64
	Counters      [][]int64 // of CounterNames; nil without Params.Counters
	Before, After []uint32  // call paths
	ThreadEnds    []int
	Anchors       [][]sequence.Anchor // nil without Params.Anchors
	Truth         []int32             // planted kind: index into Params.Kinds
	Disturbed     []bool              // lost its core
}

// Bursts are the run as a clustering takes it. They share the run's columns.
func (r *Run) Bursts() grouping.Bursts {
	b := grouping.Bursts{Columns: space.Columns{DurationNS: r.DurationNS}, Before: r.Before, After: r.After, ThreadEnds: r.ThreadEnds, Anchors: r.Anchors}
	if r.Counters != nil {
		b.CounterNames, b.Counters = CounterNames, r.Counters
	}
	return b
}

// Run makes the bursts.
func (p Params) Run() *Run {
	perRank := 0
	for _, phase := range p.Phases {
		perRank += phase.Iterations * len(phase.Steps)
	}
	n := perRank * p.Ranks
	run := &Run{DurationNS: make([]int64, 0, n), Before: make([]uint32, 0, n), After: make([]uint32, 0, n), Truth: make([]int32, 0, n), Disturbed: make([]bool, 0, n)}
	if p.Counters {
		run.Counters = [][]int64{make([]int64, 0, n), make([]int64, 0, n)}
	}
	for rank := range p.Ranks {
		newRank(&p, rank, perRank, run).run()
	}
	return run
}

// A planter makes the bursts of one rank.
type planter struct {
	*Params
	rank    int
	random  *rand.Rand
	out     *Run
	bursts  int       // that it makes, those that are lost included
	work    []float64 // its share of each kind's work
	slow    []Slow
	lost    [][2]int // stretches of bursts, from and to, by from
	next    int      // burst
	before  uint32   // call path
	anchors []sequence.Anchor
}

func newRank(p *Params, rank, bursts int, out *Run) *planter {
	r := &planter{Params: p, rank: rank, random: rand.New(rand.NewPCG(p.Seed, uint64(rank))), out: out, bursts: bursts}
	steps := p.Phases[0].Steps
	r.before = r.call(&steps[len(steps)-1]) // as if the first phase had been going on
	for range p.Kinds {
		r.work = append(r.work, math.Exp(p.Spread*r.random.NormFloat64()))
	}
	for _, s := range p.Slow {
		if s.Rank == rank {
			r.slow = append(r.slow, s)
		}
	}
	for range p.Lost {
		from := r.random.IntN(bursts)
		r.lost = append(r.lost, [2]int{from, from + leastLost + r.random.IntN(mostLost-leastLost+1)})
	}
	return r
}

func (r *planter) run() {
	begin, iteration := len(r.out.DurationNS), 0
	for _, phase := range r.Phases {
		for range phase.Iterations {
			for i := range phase.Steps {
				r.step(&phase.Steps[i])
			}
			iteration++
			r.anchors = append(r.anchors, sequence.Anchor{At: len(r.out.DurationNS) - begin, Event: uint64(iteration)})
		}
	}
	r.out.ThreadEnds = append(r.out.ThreadEnds, len(r.out.DurationNS))
	if r.Params.Anchors {
		r.out.Anchors = append(r.out.Anchors, r.anchors)
	}
}

// call is the call path that the rank has at a step.
func (r *planter) call(s *Step) uint32 {
	if s.CallOf > 1 {
		return s.Call + uint32(r.rank)%s.CallOf
	}
	return s.Call
}

func (r *planter) step(s *Step) {
	kind := s.Kinds[0]
	switch {
	case s.Drawn:
		kind = s.Kinds[r.random.IntN(len(s.Kinds))]
	case len(s.Kinds) > 1:
		kind = s.Kinds[r.rank*len(s.Kinds)/r.Ranks]
	}
	at, before, after := r.next, r.before, r.call(s)
	r.next++
	r.before = after

	k := &r.Kinds[kind]
	ipc := k.IPC
	if ipc == 0 {
		ipc = 1
	}
	ns := k.MedianNS * r.work[kind]
	instructions := ns * cyclesPerNS * ipc * (1 + instructionNoise*r.random.NormFloat64())
	part := float64(at) / float64(r.bursts)
	if k.Shape != nil {
		ns = k.Shape(r.random, ns, part)
	}
	cycles := ns * cyclesPerNS
	for _, slow := range r.slow {
		if part >= slow.From && part < slow.To {
			ns *= slow.Factor
		}
	}
	away := r.away(ns)
	if away > 0 {
		cycles *= 1 + coldCache*r.random.Float64()
	}
	for _, lost := range r.lost {
		if at >= lost[0] && at < lost[1] {
			return
		}
	}
	o := r.out
	o.DurationNS = append(o.DurationNS, int64(ns+away))
	o.Before, o.After = append(o.Before, before), append(o.After, after)
	o.Truth, o.Disturbed = append(o.Truth, kind), append(o.Disturbed, away > 0)
	if o.Counters != nil {
		o.Counters[0], o.Counters[1] = append(o.Counters[0], int64(instructions)), append(o.Counters[1], int64(cycles))
	}
}

// away draws how long a burst of so much computing is off its core.
func (r *planter) away(ns float64) (away float64) {
	l := &r.Load
	if l.Turn == nil {
		return 0
	}
	for {
		left := r.slice()
		if ns < left {
			break
		}
		ns -= left
		away += r.wait()
	}
	if l.Share > 0 && r.random.Float64() < l.Share {
		away += r.wait()
	}
	return away
}

// slice draws how long the rank keeps its core from now on.
func (r *planter) slice() float64 {
	l, ns := &r.Load, math.Inf(1)
	if least, most := l.SliceNS[0], l.SliceNS[1]; most > 0 {
		ns = least + (most-least)*r.random.Float64()
		if r.random.Float64() < l.Early {
			ns /= 2
		}
	}
	if l.WakeNS > 0 {
		ns = min(ns, l.WakeNS*r.random.ExpFloat64())
	}
	return ns
}

// wait draws how long others have the core.
func (r *planter) wait() (ns float64) {
	for range 1 + r.random.IntN(max(1, r.Load.Queue)) {
		ns += r.Load.Turn(r.random)
	}
	return ns
}
