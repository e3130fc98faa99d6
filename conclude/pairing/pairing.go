// Package pairing says who exchanged messages with whom, what that cost, where it comes from, and what of it is
// unusual: it puts a trace.Run into the terms of analysis/pairs, and the answer into the words of pairs.json and the
// rows of pairs.parquet.
package pairing

import (
	"fmt"
	"math"
	"slices"

	"moriens/analysis/pairs"
	"moriens/analysis/waits"
	"moriens/conclude/blame"
	"moriens/internal/team"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// Options are what is known of a run beside itself.
type Options struct {
	Blame      *blame.Blame       // who waited for whom, in messages too where all are known; nil: not known
	Unwaited   string             // why it is nil
	Unclear    bool               // clocks of hosts do not agree: times from one host to another are not known
	Unknown    string             // why nothing is known of messages; empty: it is
	SumsAlone  bool               // calls are on the nodes alone: sums are all that is known
	Main       waits.Span         // the stretch main, whose time costs are compared with; without a length: all of the run
	Class      []int32            // of each thread: those of one class are alike; nil = not known
	Scheduling *rundir.Scheduling // how the kernel has scheduled the ranks of this member; nil = not known
	Room       int64              // bytes that pairs.parquet may have, about; below 1: as many as it needs
	Workers    int
}

// A Pairing is what is written.
type Pairing struct {
	File *rundir.Pairs
	Rows []parquet.PairsRow // nil where the file has no totals
}

// Measure is collective: it gives the first member what there is to know of the pairs of a whole run, whose threads
// members of a team have.
func Measure(run *trace.Run, owners team.Threads, o Options) (*Pairing, error) {
	if o.Main.EndNS <= o.Main.BeginNS {
		o.Main = waits.Span{EndNS: run.DurationNS}
	}
	file := &rundir.Pairs{Format: rundir.PairsFormat, Within: rundir.WithinRun, Seconds: seconds(o.Main.EndNS - o.Main.BeginNS), Hosts: hostsOf(run)}
	if o.Unknown != "" {
		file.Why = []string{o.Unknown}
		return &Pairing{File: file}, nil
	}
	d := &describer{run: run, Options: o, file: file, counted: run.Traffic != nil}
	if err := d.exchange(owners); err != nil {
		return nil, err
	}
	if owners.Rank() != 0 {
		return &Pairing{File: file}, nil
	}
	d.describe()
	return &Pairing{file, d.rows}, nil
}

// describer puts what was found into the words of files.
type describer struct {
	Options
	run          *trace.Run
	file         *rundir.Pairs
	counted      bool // the ranks have counted what they exchanged: not all messages are known one by one
	known        *pairs.Result
	late         *waits.Result   // waits in messages: all, or those of messages that are known, which stand for others; nil: not known
	unlate       string          // why it is nil
	errors       pairs.Estimates // of what is estimated
	most         uint8           // messages are halved so often at most
	cliques      []clique
	unlisted     unlisted
	others       [][]int64          // words of what threads have put, got and sent
	collectiveNS int64              // waits at collectives
	crowded      []bool             // by node: its ranks had to wait for a core
	at           map[[2]int32]int32 // index of a rank, by world and rank
	classOf      []int32            // by rank; nil until one is asked for
	zero         []int32            // by world: the index of rank 0
	rows         []parquet.PairsRow
	ties         ties
	seen         seen
	charges      charges
	names        []string // of call paths: of their places
}

// exchange is collective: the first member gets what all have counted.
func (d *describer) exchange(owners team.Threads) error {
	if err := d.findLate(owners); err != nil {
		return err
	}
	in, sample, err := d.input(owners)
	if err != nil {
		return err
	}
	records, err := pairs.Local(in, owners)
	if err = team.Explain(owners, err); err != nil {
		return err
	}
	if err = records.Merge(owners); err != nil {
		return err
	}
	if sample, err = team.FirstByThread(owners, sample); err != nil {
		return err
	}
	if d.others, err = team.FirstByThread(owners, othersOf(d.run, owners)); err != nil {
		return err
	}
	if err := d.takeCrowded(owners); err != nil {
		return err
	}
	if d.Blame != nil {
		_, suffered, err := d.Blame.AtCollectives(d.run, owners)
		if err != nil {
			return err
		}
		for _, ns := range suffered {
			d.collectiveNS += ns
		}
	}
	if !d.sumsAlone() {
		d.cliques, d.unlisted, err = cliquesOf(d.run, owners)
	}
	if err != nil || owners.Rank() != 0 {
		return err
	}
	d.known = records.Solve()
	if !d.counted {
		return nil
	}
	known := int64(0)
	for i := range d.known.Flows {
		if f := &d.known.Flows[i]; f.Kind == pairs.Received {
			known += f.Known
		}
	}
	if known < fewest {
		if d.late != nil {
			d.late, d.unlate = nil, "fewer than "+count(fewest)+" messages are known one by one"
		}
		return nil
	}
	d.errors = pairs.Estimate(d.known.RankOf, latesOf(sample), d.most)
	return nil
}

// sumsAlone says that of calls nothing is known but sums.
func (d *describer) sumsAlone() bool { return d.SumsAlone && d.counted }

// fewest is how many messages an estimate is made from at least.
const fewest = 30

// findLate is collective: it finds the waits in messages. Where some of these are known alone, they are estimates.
func (d *describer) findLate(owners team.Threads) (err error) {
	d.unlate = d.Unwaited
	switch t := d.run.Traffic; {
	case d.Blame == nil:
	case !d.counted && d.Blame.Full:
		d.late = d.Blame.Result
	case d.counted && !d.sumsAlone() && t.Sample != nil:
		for _, x := range t.Sample {
			n, _ := x.Halved()
			d.most = max(d.most, n)
		}
		d.late, d.unlate, err = d.Blame.Sample(d.run, owners)
	case d.counted:
		d.unlate = "messages are known in sums alone"
	}
	return err
}

// describe fills in the file, and makes the rows.
func (d *describer) describe() {
	d.at, d.zero = make(map[[2]int32]int32), make([]int32, len(d.run.Worlds))
	for i, r := range d.known.Ranks {
		d.at[[2]int32{r.World, r.Rank}] = int32(i)
		if r.Rank == 0 && r.World >= 0 && int(r.World) < len(d.zero) {
			d.zero[r.World] = int32(i)
		}
	}
	all := d.run.Names()
	for _, place := range d.run.Places() {
		d.names = append(d.names, all[place])
	}
	d.makeRows()
	if len(d.rows) == 0 {
		d.file.Why = append(d.file.Why, "no rank sent a message")
		d.whyUnlisted()
		return
	}
	d.takeWaits()
	d.takeSizes()
	d.takePaths()
	d.takeLines()
	d.takeCauses()
	d.findings()
	d.why()
}

// why says what is not known.
func (d *describer) why() {
	add := func(text string) { d.file.Why = append(d.file.Why, text) }
	switch {
	case d.late == nil:
		add("late times and causes are not known: " + d.unlate)
	case d.counted:
		add("late times, causes, transfer lines and sizes of pairs are estimated from the messages of the compared windows")
	}
	if d.known.OneSided > 0 {
		add("messages of which no call is known that completed the receive have no time: " + count(d.known.OneSided))
	}
	if list := d.crowdedNodes(); len(list) > 0 {
		add("ranks waited for cores of " + firstOf(list, "node") + ": times include that, and pairs there are not compared with others")
	}
	d.whyUnlisted()
	if d.Unclear {
		add("transfers between nodes are not compared: clocks of hosts do not agree well enough")
	}
}

// whyUnlisted says which communicators are in no clique.
func (d *describer) whyUnlisted() {
	if d.sumsAlone() && slices.Contains(partsOf(d.run), true) {
		d.file.Why = append(d.file.Why, "the placement leaves out collectives: their calls are on the nodes alone")
	}
	if n := len(d.unlisted); n > 0 {
		d.file.Why = append(d.file.Why, fmt.Sprintf("the placement leaves out the collectives of %s with more than %s ranks, of %s together",
			units.Count(n, "communicator"), count(mostOfClique), units.Counted(d.unlisted.ranks(), "rank")))
	}
}

func seconds(ns int64) rundir.Number { return rundir.Number(float64(ns) / 1e9) }

var unknown = rundir.Number(math.NaN())
