package retention

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"moriens/analysis/represent"
	"moriens/conclude/carry"
	"moriens/conclude/levels"
	"moriens/internal/team"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/picture"
	"moriens/trace/rundir"
)

const (
	// In a run with iterations, whose outliers and exemplars stand for the rest, these parts of what everything would take
	// are for anomalies, for clusters in no other window, for the peers of what is kept, and for the critical path; but
	// each may always have leastExtra bytes. A noisy machine has something unusual in every tenth iteration, which must
	// not outweigh the others.
	anomaliesOfFull = 1. / 500
	clustersOfFull  = 1. / 800
	peersOfFull     = 1. / 600
	pathOfFull      = 1. / 600
	// A window of an anomaly should take this part of what is for them with each of its threads, but a dozen bursts or so
	// are needed to see anything.
	nearOfAnomalies, leastNear = 1. / 16, 16
	// Of bursts.parquet the sample may take this part of the room, and of what everything would take, but it may always
	// have leastSample rows.
	sampleOfRoom = 1. / 8
	sampleOfFull = 1. / 1000
	leastSample  = 500
	// sampleRow is about what a row of the sample takes, bytes.
	sampleRow = 40
	// The marks of a picture may take this part of what clusters.json and the levels of all ranks take but for
	// instances.parquet, which takes twice its room from that of peers; but always
	// leastPicture bytes, and never more than that part of the budget, and of what these leave of it. There are three:
	// burst space, the timeline, and the overview that pages draw it from.
	pictureOfSums   = 1. / 12
	pictureOfBudget = 1. / 24
	pictureOfLeft   = 1. / 12
	leastPicture    = 7_000
	// profileOfBudget is the part of the budget that profile.parquet may take with the call paths of each thread.
	profileOfBudget = 1. / 8
	// fits is how often windows may be chosen again because they take more than estimated; then none is kept.
	fits = 4
	// manifestLast is about the size of what is added to the manifest when all is written: the list of files, and the
	// seconds of the stages.
	manifestLast = 4 << 10
	// margin is how much smaller than it must be the next choice is, for the same reason.
	margin = .9
)

// measure finds out what is left of the budget, and what rows take of it; not when ctx has ended.
func (b *budget) measure(ctx context.Context) {
	err := b.content.Count()
	if err == nil {
		b.content.Describe()
		err = b.reduction.ended(ctx)
	}
	if err == nil {
		err = b.render(ctx)
	}
	if err == nil {
		err = b.weigh()
	}
	if b.known = err == nil; err != nil {
		b.reduction.miss("size", "the size of rows in files is not known, so none are kept", err)
		b.room = 0
	}
}

// render makes the files whose size does not depend on what is kept, and measures what rows take in the others.
func (b *budget) render(ctx context.Context) error {
	c, owners := b.content, b.reduction.owners
	var sums sync.WaitGroup
	var sumsErr error
	var fixed, instances int64
	if owners.Rank() == 0 {
		sums.Go(func() { fixed, sumsErr = b.renderSums() })
	}
	if b.options.Workers < 2 {
		sums.Wait()
	}
	sizes, err := measure(c.Run, owners, b.options.Sums)
	b.reduction.sizes = sizes
	sums.Wait()
	b.fixed, sumsErr = team.First(owners, func() (int64, error) { return fixed, sumsErr })
	instances, err = team.First(owners, func() (int64, error) { return c.Rendered(rundir.InstancesFile), err })
	b.reduction.instanceBytes = instances
	if err := errors.Join(err, sumsErr, b.reduction.ended(ctx)); err != nil {
		return err
	}
	left := max(0, float64(b.options.Budget)-float64(b.fixed))
	most := min(float64(b.options.Budget)*pictureOfBudget, left*pictureOfLeft, picture.DefaultBytes)
	c.Picture = int(max(1, min(max(float64(b.fixed-instances)*pictureOfSums, leastPicture), most)))
	drawn, drawErr := c.RenderPictures(b.options.Workers)
	if err := team.Explain(owners, drawErr); err != nil {
		return err
	}
	pictures, err := team.First(owners, func() (int64, error) { return drawn, nil })
	b.later, sumsErr = team.First(owners, func() (int64, error) { return c.LaterBytes(), nil })
	b.fixed += pictures + b.later
	return errors.Join(err, sumsErr)
}

// renderSums makes the files of sums. Where the profile takes more than its part of the budget, it has call paths by
// classes of ranks.
func (b *budget) renderSums() (int64, error) {
	c, r := b.content, b.reduction
	bytes, err := c.RenderSums(b.options.Workers)
	whole := c.Rendered(rundir.ProfileFile)
	if err != nil || float64(whole) <= float64(b.options.Budget)*profileOfBudget {
		return bytes, err
	}
	profile, done := levels.ByClass(c.Levels.Profile, c.Run, r.classes.Of)
	if done == nil {
		return bytes, nil
	}
	less, err := c.TakeProfile(profile)
	if err != nil || less <= 0 {
		return bytes, err
	}
	done.Bytes = whole
	r.byClass = done
	return bytes - less, nil
}

// weigh finds out what room there is for detail, beside the files that every run has and a manifest that reports what
// is kept.
func (b *budget) weigh() error {
	own, err := team.First(b.reduction.owners, func() (int64, error) {
		c, m := *b.content, *b.content.Manifest
		c.Manifest = &m
		m.Notes, m.Reduction.Missing = slices.Clip(m.Notes), slices.Clip(m.Reduction.Missing)
		m.Reduction.GivenUp = slices.Clip(m.Reduction.GivenUp)
		b.reduction.describe(&c, b.options)
		m.Reduction.Error = b.unjudged()
		return c.ManifestBytes()
	})
	b.manifest = own + manifestLast
	b.room = max(int64(b.options.Budget)-b.fixed-b.manifest, 0)
	return err
}

// unjudged takes no fewer bytes than the stated error, which is not known before there is something to evaluate.
func (b *budget) unjudged() *rundir.Fidelity {
	run := b.content.Run
	const number = rundir.Number(.12345678901234567)
	counters := make([]rundir.CounterError, len(run.Counters))
	for i := range counters {
		counters[i] = rundir.CounterError{Name: run.Counters[i].Name, Error: number}
	}
	clusters := make([]rundir.ClusterError, len(run.Clusters)+1) // noise too
	for i := range clusters {
		clusters[i] = rundir.ClusterError{
			ID: int32(i), Time: number, ExactSeconds: number, RebuiltSeconds: number, Counters: counters, Wasserstein: number, Kolmogorov: number,
		}
	}
	weighted := rundir.Errors{Time: number, ExactSeconds: number, RebuiltSeconds: number, WorstTime: number, WorstCluster: 1, Counters: counters, Clusters: clusters}
	windows := weighted
	if p := b.reduction.periods; p != nil {
		for i := range p.Phases {
			windows.Curves = append(windows.Curves, rundir.CurveError{Phase: i, Points: p.Phases[i].Iterations, Mean: number, Worst: number, At: p.Phases[i].Iterations})
		}
	}
	rank := rundir.RankError{World: len(run.Worlds), Rank: len(run.Threads), Time: number, ExactSeconds: number, RebuiltSeconds: number}
	ranks := rundir.RankErrors{Mean: number, Worst: &rank, List: slices.Repeat([]rundir.RankError{rank}, min(len(run.Threads), levels.MostRanks)), More: len(run.Threads)}
	return &rundir.Fidelity{
		Ranks: ranks, Represented: number, Inside: number, Windows: windows, Weighted: weighted,
		Sources: rundir.Sources{Thread: number, Class: number, Run: number, Sample: number, Nothing: number},
	}
}

// share is the part of the room that the next choice gets.
func (b *budget) share() int64 { return int64(float64(b.room) * b.scale) }

// extra bounds what does not stand for iterations, of a run that has some.
func (r *Reduction) extra() map[represent.Why]int64 {
	if !slices.ContainsFunc(r.found.Windows, func(w represent.Window) bool { return w.Why == represent.Representative }) {
		return nil
	}
	return map[represent.Why]int64{
		represent.Anomaly: r.sizes.part(anomaliesOfFull), represent.Fallback: r.sizes.part(clustersOfFull), represent.Peer: max(leastExtra, r.sizes.part(peersOfFull)-2*r.instanceBytes), represent.CriticalPath: r.sizes.part(pathOfFull),
	}
}

// choose chooses windows for what is left.
func (b *budget) choose() {
	r := b.reduction
	choice, err := b.choice()
	if err == nil {
		r.parts, r.dropped = partsOf(choice.Kept, r.found), choice.Dropped
		b.windows, b.kept, r.order, err = place(b.content.Run, r.owners, r.parts)
		r.chosen = choice.Notes
	}
	if err != nil {
		r.miss("choose", "no windows in full detail", err)
		r.parts, r.dropped, r.order, r.chosen = nil, nil, nil, nil
		b.windows, b.kept = []trace.Window{}, make([][]trace.Span, len(b.content.Run.Threads))
	}
}

// choice is made by the first of several members, and sent to all.
func (b *budget) choice() (*represent.Choice, error) {
	r := b.reduction
	keeping, err := b.keeping()
	if err != nil {
		return nil, err
	}
	return team.First(r.owners, func() (*represent.Choice, error) {
		candidates := represent.Candidates(r.classes, r.found, keeping, r.name)
		return represent.Choose(candidates, represent.Budget{Bytes: max(b.share()-b.sampleBytes(), 0), Of: r.extra()})
	})
}

// fetch gets what nodes have of the windows, then of those of the threads with which these exchange messages. It
// returns the run with that.
func (b *budget) fetch(ctx context.Context) *trace.Run {
	r, detail := b.reduction, b.detail
	r.lacks(detail.Fetch(ctx, b.kept))
	whole := detail.Add(b.content.Run)
	b.neighbours = neighboursOf(whole)
	b.choose()
	r.lacks(detail.Fetch(ctx, b.kept))
	return detail.Add(b.content.Run)
}

// lacks notes what members could not get, each thing once.
func (r *Reduction) lacks(own []string) {
	all, err := team.Values(r.owners, own)
	if err != nil {
		all = [][]string{own}
	}
	var texts []string
	for _, list := range all {
		for _, text := range list {
			if len(all) == 1 || !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	r.missing = append(r.missing, texts...)
}

// fit makes what is kept of a run that has the detail, and chooses less where that takes more than there is room for;
// when ctx has ended, nothing.
func (b *budget) fit(ctx context.Context, whole *trace.Run) {
	r := b.reduction
	if !b.known {
		b.none(nil)
		return
	}
	has, err := rundir.HasOf(whole).Shared(r.owners)
	if err != nil {
		b.none(err)
		return
	}
	for try := 1; ; try++ {
		bytes, err := b.bytes(whole, has)
		if err == nil {
			err = b.weigh()
		}
		if err == nil && bytes <= b.room {
			return
		}
		if err == nil {
			err = r.ended(ctx)
		}
		taken := b.estimated()
		if err != nil || try == fits || b.share() == 0 || taken == 0 {
			b.none(err)
			return
		}
		// By what this choice was estimated at, which may be far less than its share: else the next one would be the same.
		b.scale = margin * float64(taken) / float64(bytes)
		b.choose()
	}
}

// estimated is how many bytes of its share the choice was to take.
func (b *budget) estimated() int64 {
	bytes := b.sampleBytes()
	for i := range b.reduction.parts {
		bytes += b.reduction.parts[i].bytes
	}
	return bytes
}

// bytes makes what is kept of a run, and says how much that takes.
func (b *budget) bytes(whole *trace.Run, has rundir.Has) (int64, error) {
	r := b.reduction
	if err := b.cut(whole); err != nil {
		return 0, err
	}
	if err := b.draw(); err != nil {
		r.miss("sample", "no sample of the bursts outside windows", err)
	}
	return team.First(r.owners, func() (int64, error) { return rundir.DetailBytes(has, r.Kept, cmp.Or(r.Rows, r.Kept)) })
}

// cut makes what of a run lies in windows; the first of several members has all of it.
func (b *budget) cut(whole *trace.Run) error {
	r := b.reduction
	r.Kept = whole.Cut(b.windows, b.kept)
	if b.detail != nil {
		r.lost, r.lacking = b.detail.Lacking(b.kept)
	}
	all, err := carry.Run(r.owners, r.Kept)
	r.Kept = cmp.Or(all, r.Kept)
	if err := team.Explain(r.owners, err); err != nil || r.blame == nil {
		return err
	}
	found, err := team.First(r.owners, b.waitsOfKept)
	if err != nil {
		return err
	}
	b.fixed += found.Later - b.later
	b.later, r.unwaited = found.Later, found.Why
	return nil
}

// A windowWaits is by how much waits.json is larger with the waits of windows, or why it has none.
type windowWaits struct {
	Later int64
	Why   string
}

// waitsOfKept finds the waits of what is kept, and adds them to those of the whole run.
func (b *budget) waitsOfKept() (windowWaits, error) {
	windows, why, err := b.reduction.blame.Windows(b.reduction.Kept)
	if err == nil {
		var later int64
		if later, err = b.content.TakeWindowWaits(windows, why); err == nil {
			return windowWaits{Later: later}, nil
		}
	}
	later, none := b.content.TakeWindowWaits(nil, why)
	return windowWaits{later, err.Error()}, none
}

// none keeps no window: not even what is left for them takes as little as there is room for.
func (b *budget) none(err error) {
	r := b.reduction
	const without = "no windows in full detail"
	switch {
	case err != nil:
		r.miss("fit", without, err)
		b.least = true
	case !b.known: // which is reported
		b.least = true
	default:
		r.missing = append(r.missing, fmt.Sprintf("%s: of %v, the files that every run has take %v; too little is left for any", without, b.options.Budget, units.Bytes(b.fixed+b.manifest)))
	}
	b.scale = 0
	b.choose()
	r.chosen = nil
	if err := b.cut(b.content.Run); err != nil {
		r.miss("cut", without, err)
	}
	if err := b.draw(); err != nil {
		r.miss("sample", "the reconstruction error is not known", err)
	}
}

// draw makes the bursts of what is kept, and the sample of the others.
func (b *budget) draw() error {
	r := b.reduction
	bursts, drawn, err := levels.Keep(b.content.Run, r.owners, b.kept, r.alike(), b.sampleRows(), b.options.Workers)
	r.Rows, r.sampledOf = nil, 0
	if err != nil {
		return err
	}
	r.sampledOf = drawn.Of
	r.Rows, err = carry.Run(r.owners, withBursts(b.content.Run, r.owners, bursts))
	return err
}

// withBursts is a run with some of its bursts in the place of all. What goes from one member to another has no more
// than these, and the phases that they lie in.
func withBursts(run *trace.Run, owners team.Threads, bursts []trace.Bursts) *trace.Run {
	with := *run
	with.Threads = slices.Clone(run.Threads)
	for i := range bursts {
		t := &with.Threads[i]
		if owners.Size() > 1 {
			t.Calls, t.Transfers, t.Collectives, t.Events, t.Pauses = trace.Calls{}, trace.Transfers{}, trace.Collectives{}, nil, nil
			t.Readings = trace.Readings{}
			t.Waits, t.Critical = trace.Waits{}, nil
			t.Phases = phasesWith(t.Phases, &bursts[i])
		}
		t.Bursts = bursts[i]
	}
	return &with
}

// phasesWith are the phases that bursts lie in, which name these by their new places then.
func phasesWith(phases []trace.Phase, b *trace.Bursts) []trace.Phase {
	var some []trace.Phase
	places := make(map[int32]int32)
	for k, p := range b.Phase {
		if p < 0 {
			continue
		}
		place, there := places[p]
		if !there {
			place = int32(len(some))
			places[p] = place
			some = append(some, phases[p])
		}
		b.Phase[k] = place
	}
	return some
}

// sampleBytes is how much of what is left the sample may take.
func (b *budget) sampleBytes() int64 {
	if b.least {
		return int64(min(float64(b.options.Budget)*sampleOfRoom, leastSample*sampleRow))
	}
	room := float64(b.share()) * sampleOfRoom
	return int64(min(room, max(float64(b.reduction.sizes.Full)*sampleOfFull, leastSample*sampleRow)))
}

func (b *budget) sampleRows() int { return int(b.sampleBytes() / sampleRow) }

// standing are the spans that stand for the run: all but those of anomalies, of which nothing follows for the rest.
func (b *budget) standing() [][]trace.Span {
	list := make([][]trace.Span, len(b.kept))
	for i, spans := range b.kept {
		for _, s := range spans {
			if b.reduction.parts[b.reduction.order[s.Window]].window.Why != represent.Anomaly {
				list[i] = append(list[i], s)
			}
		}
	}
	return list
}
