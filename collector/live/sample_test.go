package live

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/grouping"
	"moriens/analysis/kinds/plant"
	"moriens/analysis/space"
	"moriens/collector/store"
	"moriens/internal/mpicall"
	"moriens/internal/testenv"
	"moriens/trace/prv"
)

// burst is which of the job's bursts a thread was in at a time.
func (d *delivery) burst(m moment) int {
	begin := 0
	if m.ring > 0 {
		begin = d.job.ThreadEnds[m.ring-1]
	}
	i, is := slices.BinarySearch(d.start[begin:begin+d.sent[m.ring]], uint64(m.startNS)+1)
	if !is {
		panic(fmt.Sprintf("thread %d has no burst at %d", m.ring, m.startNS))
	}
	return begin + i
}

// taken is what was taken of a job at one look.
type taken struct {
	arrived
	of []int // which bursts of the job
}

// look takes what has arrived, and clusters it.
func (d *delivery) look(t *testing.T, l *Live) (list []taken) {
	t.Helper()
	views := d.store.Rings()
	for {
		some, err := l.takeSome(views)
		if err != nil {
			t.Fatal(err)
		}
		if !some {
			break
		}
		a := taken{arrived: arrived{
			bursts: grouping.Bursts{
				Columns: space.Columns{DurationNS: slices.Clone(l.feed.bursts.DurationNS), CounterNames: l.feed.bursts.CounterNames},
				Before:  slices.Clone(l.feed.bursts.Before), After: slices.Clone(l.feed.bursts.After),
			},
			stands: slices.Clone(l.feed.stands), moments: slices.Clone(l.feed.moments),
		}}
		for _, column := range l.feed.bursts.Counters {
			a.bursts.Counters = append(a.bursts.Counters, slices.Clone(column))
		}
		for _, m := range a.moments {
			a.of = append(a.of, d.burst(m))
		}
		list = append(list, a)
	}
	l.update(len(views))
	return list
}

// labels are the clusters of what was taken: 0 for those that are in none, or in one that is left out.
func labels(t *testing.T, l *Live, a *taken) []int32 {
	t.Helper()
	s, err := space.New(a.bursts.Columns, l.chosen.Dims)
	if err != nil {
		t.Fatal(err)
	}
	there := make(map[int32]bool)
	for _, k := range l.Progress().Clusters {
		there[k.ID] = true
	}
	list := make([]int32, a.bursts.Len())
	for row := range list {
		var of calls
		if l.chosen.By == grouping.ByCalls {
			of = calls{a.bursts.Before[row], a.bursts.After[row]}
		}
		if g := l.groups[of]; g != nil {
			if id, _ := g.idAt(s.Coordinates(nil, []int32{int32(row)})); there[id] {
				list[row] = id
			}
		}
	}
	return list
}

// alike is the share of the time in which bursts have a live cluster and a final one that belong together: in the order
// of the time that they share, each with one other at most.
func alike(live, final []int32, timeNS []int64) float64 {
	type pair struct{ live, final int32 }
	shared := make(map[pair]int64)
	all := int64(0)
	for i, ns := range timeNS {
		shared[pair{live[i], max(0, final[i])}] += ns // noise and what is left out are 0
		all += ns
	}
	var pairs []pair
	for p := range shared {
		if (p.live == 0) == (p.final == 0) {
			pairs = append(pairs, p)
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		if shared[a] != shared[b] {
			return int(min(1, max(-1, shared[b]-shared[a])))
		}
		return int(a.live-b.live)*1000 + int(a.final-b.final)
	})
	lives, finals, same := make(map[int32]bool), make(map[int32]bool), int64(0)
	for _, p := range pairs {
		if !lives[p.live] && !finals[p.final] {
			lives[p.live], finals[p.final] = true, true
			same += shared[p]
		}
	}
	return float64(same) / float64(all)
}

func newFollowed(s *store.Store, o grouping.Options) *Live {
	l := New(s, o, slog.New(slog.DiscardHandler))
	l.Follow()
	return l
}

// Of jobs so large that a twentieth or a hundredth of their bursts is taken, what is taken has the clusters of the end,
// where density alone distinguishes them; where it does not, as far as live clusters of all bursts would have them.
func TestSampleHasTheFinalClusters(t *testing.T) {
	type program struct {
		plant.Params
		apart bool // density alone distinguishes the clusters
	}
	programs := map[string]program{
		"large":    {plant.Large(1, 1, 64, .02), false},
		"classes":  {plant.Classes(1, 1, plant.Load{}), false},
		"similar":  {plant.Ratios(1, 3, 1.4, .03, 1, plant.Load{}), false},
		"counters": {plant.ByCounters(1, 1, plant.Load{}), true},
		"tasks":    {plant.RandomTasks(1, 1, plant.Load{}), true},
		"a few":    {plant.Ratios(1, 4, 2, .03, 1, plant.Load{Share: .01, Turn: plant.Slices(1e6, 6e6)}), true},
	}
	for kinds := 2; kinds <= 6; kinds++ {
		programs[fmt.Sprintf("%d clusters", kinds)] = program{plant.Ratios(uint64(kinds), kinds, 2, .03, 1, plant.Load{}), true}
		calls := plant.Ratios(uint64(kinds), kinds, 1.3, .03, 1, plant.Load{})
		for i := range calls.Phases[0].Steps {
			calls.Phases[0].Steps[i].Call += uint32(i)
		}
		programs[fmt.Sprintf("%d pairs of calls", kinds)] = program{calls, true}
	}
	for name, p := range programs {
		for _, part := range []int{20, 100} {
			t.Run(fmt.Sprintf("%s, one in %d", name, part), func(t *testing.T) {
				p.Ranks, p.Slow = 64, nil
				looks := max(2, 80/part)
				p.Phases = []plant.Phase{{Iterations: part * fedBursts * looks / p.Ranks / len(p.Phases[0].Steps), Steps: p.Phases[0].Steps}}
				checkSample(t, p.Run().Bursts(), looks, p.apart)
			})
		}
	}
}

func checkSample(t *testing.T, job grouping.Bursts, looks int, apart bool) {
	t.Helper()
	o := grouping.Options{By: grouping.ByAuto, Filter: space.Filter{Auto: true}}
	chosen, _ := o.Choose(job.CounterNames)
	chosen.JobThreads, chosen.Workers = len(job.ThreadEnds), 2
	final, err := grouping.Compute(job, chosen)
	if err != nil {
		t.Fatal(err)
	}
	d := deliver(t, job)
	l := newFollowed(d.store, o)
	var all []taken
	for i := range looks {
		d.next(i, looks, 2048)
		all = append(all, d.look(t, l)...)
	}
	var live, end []int32
	var timeNS []int64
	fed := 0
	for i := range all {
		a := &all[i]
		live = append(live, labels(t, l, a)...)
		for row, of := range a.of {
			end, timeNS = append(end, final.Labels[of]), append(timeNS, a.stands[row].timeNS)
		}
		fed += len(a.of)
	}
	least := .95
	same := alike(live, end, timeNS)
	if !apart {
		whole := newLive(t, o)
		whole.chosen, _ = whole.options.Choose(job.CounterNames)
		addAll(t, whole, job)
		every := taken{arrived: arrived{bursts: job}}
		least = min(.95, alike(labels(t, whole, &every), final.Labels, job.DurationNS)-.05)
	}
	t.Logf("%d of %d bursts, %.4f of the time alike, at least %.4f, %d clusters live, %d in the end", fed, job.Len(), same, least, len(l.Progress().Clusters), len(final.Clusters))
	if fed > looks*(fedBursts+len(l.feed.sampler.strata)) {
		t.Errorf("%d bursts are taken at %d looks", fed, looks)
	}
	if same < least {
		t.Errorf("%.4f of the time is in the clusters of the end, want %.4f", same, least)
	}
}

// The same of a real program, of which 60 copies run with a noise of .2 %: particle-in-cell, with counters and many
// pairs of calls.
func TestSampleOfEpoch(t *testing.T) {
	for _, name := range []string{"epoch_2proc.prv.gz", "epoch_4proc.prv.gz"} {
		t.Run(name, func(t *testing.T) {
			read, err := prv.ReadFile(testenv.RealTrace(t, name), prv.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var job grouping.Bursts
			for _, c := range read.Run.Counters {
				job.CounterNames = append(job.CounterNames, c.Name)
			}
			job.Counters = make([][]int64, len(job.CounterNames))
			places, random := read.Run.Places(), rand.New(rand.NewPCG(1, 1))
			for range 60 {
				for i := range read.Run.Threads {
					b := &read.Run.Threads[i].Bursts
					before := uint32(0)
					for k, ns := range b.DurationNS {
						noise := math.Exp(.002 * random.NormFloat64())
						job.DurationNS = append(job.DurationNS, int64(float64(ns)*noise))
						job.Before, job.After = append(job.Before, before), append(job.After, places[b.After[k]])
						before = places[b.After[k]]
						for c, column := range b.Counters {
							v := column[k]
							if v > 0 {
								v = int64(float64(v) * noise)
							}
							job.Counters[c] = append(job.Counters[c], max(v, space.NotRead))
						}
					}
					job.ThreadEnds = append(job.ThreadEnds, job.Len())
				}
			}
			checkSample(t, job, 5, true)
		})
	}
}

// drawJob is bursts of some threads between some calls, of very different durations and rates.
func drawJob(seed uint64, bursts, threads int) grouping.Bursts {
	random := rand.New(rand.NewPCG(seed, 3))
	job := grouping.Bursts{Columns: space.Columns{CounterNames: []string{"A", "B"}, Counters: make([][]int64, 2)}}
	calls := 1 + random.IntN(30)
	for range threads {
		before := uint32(0)
		for range bursts / threads {
			after := uint32(math.Pow(random.Float64(), 3)*float64(calls)) + 1
			ns := int64(1000 * math.Exp(2*random.NormFloat64()))
			job.DurationNS = append(job.DurationNS, ns)
			job.Before, job.After = append(job.Before, before), append(job.After, after)
			job.Counters[0], job.Counters[1] = append(job.Counters[0], ns/2), append(job.Counters[1], int64(after))
			before = after
		}
		job.ThreadEnds = append(job.ThreadEnds, job.Len())
	}
	return job
}

// What is taken stands for all that has arrived: exactly for the bursts between each two calls, and for their time.
// Each is a burst of the job, with its counts, and taken once. The same chunks have the same sample.
func TestSampleStandsForAll(t *testing.T) {
	for seed := range uint64(12) {
		job := drawJob(seed, 30_000+int(seed)*5_000, 1+int(seed))
		d, again := deliver(t, job), deliver(t, job)
		o := grouping.Options{Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}}
		l, same := newFollowed(d.store, o), newFollowed(again.store, o)
		const looks = 3
		type sums struct{ bursts, timeNS int64 }
		want, got := make(map[calls]sums), make(map[calls]sums)
		seen := make(map[int]bool)
		allNS := int64(0)
		for i := range looks {
			d.next(i, looks, 1000)
			again.next(i, looks, 1000)
			list := d.look(t, l)
			if !reflect.DeepEqual(list, again.look(t, same)) {
				t.Fatalf("seed %d: another sample of the same chunks", seed)
			}
			if len(list) != 1 || len(list[0].of) > fedBursts+len(l.feed.sampler.strata) {
				t.Fatalf("%d portions, the first of %d bursts", len(list), len(list[0].of))
			}
			places := d.store.Places()
			for row, of := range list[0].of {
				b, s := &list[0].bursts, list[0].stands[row]
				k := calls{b.Before[row], b.After[row]}
				if seen[of] || b.DurationNS[row] != job.DurationNS[of] || b.Counters[0][row] != job.Counters[0][of] || b.Counters[1][row] != job.Counters[1][of] {
					t.Fatalf("row %d: burst %d was taken before, or is another", row, of)
				}
				if s.bursts < 1 || s.timeNS < 0 || int(k.after) >= len(places) {
					t.Fatalf("row %d stands for %+v between %+v", row, s, k)
				}
				seen[of] = true
				got[k] = sums{got[k].bursts + s.bursts, got[k].timeNS + s.timeNS}
			}
		}
		place := make([]uint32, 40) // of the job's calls
		for i, ns := range job.DurationNS {
			for _, path := range []uint32{job.Before[i], job.After[i]} {
				if path > 0 && place[path] == 0 {
					place[path] = placeOf(d, path)
				}
			}
			k := calls{place[job.Before[i]], place[job.After[i]]}
			want[k] = sums{want[k].bursts + 1, want[k].timeNS + ns}
			allNS += ns
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(calls{}, sums{})); diff != "" {
			t.Fatalf("seed %d, -all +sample: %s", seed, diff)
		}
		p := l.Progress()
		if p.Bursts != job.Len() || l.durations.TotalNS() != allNS {
			t.Errorf("%d bursts of %d ns, want %d, %d", p.Bursts, l.durations.TotalNS(), job.Len(), allNS)
		}
		profileNS := 0.
		for _, row := range l.Followed().Profile.Seconds {
			for _, s := range row {
				profileNS += s * 1e9
			}
		}
		if all := float64(allNS) + callNS*float64(job.Len()); math.Abs(profileNS-all) > 1e-6*all {
			t.Errorf("the profile has %.0f ns, want %.0f", profileNS, all)
		}
	}
}

// placeOf is the store's number of a call path of the job.
func placeOf(d *delivery, path uint32) uint32 {
	return d.store.Places()[d.store.Path(0, uint32(mpicall.Allreduce), path)]
}

// Three bursts of a million between calls of their own are there, each for itself, and are a cluster.
func TestRareCallsAreInTheSample(t *testing.T) {
	job := plant.Large(1, 1_200_000, 16, 0).Run().Bursts()
	const rare, ns = 99, int64(7e8)
	for i, row := range []int{123_456, 500_003, 1_111_111} {
		job.After[row], job.Before[row+1], job.DurationNS[row] = rare, rare, ns+int64(i)
	}
	for looks, portions := range map[int]int{6: 6, 1: 2} { // all at once are two portions
		d := deliver(t, job)
		l := newFollowed(d.store, grouping.Options{Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}})
		taken := 0
		for i := range looks {
			d.next(i, looks, 4096)
			taken += len(d.look(t, l))
		}
		after := placeOf(d, rare)
		bursts, timeNS := int64(0), int64(0)
		for _, k := range l.Progress().Clusters {
			if k.After == after {
				bursts, timeNS = bursts+k.Bursts, timeNS+k.TimeNS
			}
		}
		if bursts != 3 || timeNS != 3*ns+3 || taken != portions || l.Progress().Bursts != job.Len() {
			t.Errorf("%d rare bursts of %d ns in %d portions, of %d bursts; want 3 of %d in %d, of %d", bursts, timeNS, taken, l.Progress().Bursts, 3*ns+3, portions, job.Len())
		}
	}
}

// A time that no job takes, of a program that has overwritten its ring, costs no other burst.
func TestSampleOfImpossibleTicks(t *testing.T) {
	job := drawJob(1, 4*fedBursts, 8)
	job.DurationNS[fedBursts+7] = math.MaxInt64 / 4
	d := deliver(t, job)
	l := newFollowed(d.store, grouping.Options{Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}})
	d.next(0, 1, 500)
	views := d.store.Rings()
	if some, err := l.takeSome(views); !some || err != nil {
		t.Fatal(some, err)
	}
	l.update(len(views))
	if p := l.Progress(); p.Bursts != job.Len() {
		t.Errorf("%d bursts, want %d", p.Bursts, job.Len())
	}
}

// A burst that takes as long as all others between the same calls is taken, and stands for itself.
func TestLongBurstsAreInTheSample(t *testing.T) {
	job := plant.One(1, 32, 8000, plant.Jitter(.01, .01)).Run().Bursts()
	const long = 200_123
	job.DurationNS[long] = 1e12
	d := deliver(t, job)
	l := newFollowed(d.store, grouping.Options{Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}})
	d.next(0, 1, 4096)
	list := d.look(t, l)
	row := slices.Index(list[0].of, long)
	if row < 0 {
		t.Fatal("it is not taken")
	}
	if s := list[0].stands[row]; s != (stand{1, 1e12}) {
		t.Errorf("it stands for %+v", s)
	}
}

// Up to the bound nothing is left out: every burst is taken, in order, and stands for itself.
func TestFewBurstsAreAllTaken(t *testing.T) {
	job := drawJob(5, 4*fedBursts, 1)
	d := deliver(t, job)
	l := newFollowed(d.store, grouping.Options{Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}})
	next := 0
	for i := range 4 {
		d.next(i, 4, 300)
		for _, a := range d.look(t, l) {
			for row, of := range a.of {
				if of != next || a.stands[row] != (stand{1, job.DurationNS[of]}) {
					t.Fatalf("burst %d follows %d, and stands for %+v", of, next-1, a.stands[row])
				}
				next++
			}
		}
	}
	if next != job.Len() {
		t.Errorf("%d of %d bursts are taken", next, job.Len())
	}
}

// What several collectors have taken stands for all that has arrived at them, and the first one finds the clusters.
func TestSharedSamples(t *testing.T) {
	job := plant.Ratios(1, 3, 2, .03, 1000, plant.Load{})
	job.Ranks = 32
	all := job.Run().Bursts()
	const members = 2
	o := grouping.Options{Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}}
	var parts [members]*delivery
	var lives [members]*Live
	half := all.ThreadEnds[len(all.ThreadEnds)/2-1]
	for m, rows := range [members][2]int{{0, half}, {half, all.Len()}} {
		part := grouping.Bursts{Columns: space.Columns{DurationNS: all.DurationNS[rows[0]:rows[1]]}, Before: all.Before[rows[0]:rows[1]], After: all.After[rows[0]:rows[1]]}
		for i := range len(all.ThreadEnds) / 2 {
			part.ThreadEnds = append(part.ThreadEnds, all.ThreadEnds[i])
		}
		parts[m] = deliver(t, part)
		lives[m] = New(parts[m].store, o, slog.New(slog.DiscardHandler))
		lives[m].Among(m, members)
	}
	lives[0].Follow()
	now := time.Now()
	lives[0].cluster(now)
	for i := range 4 {
		for m := range parts {
			parts[m].next(i, 4, 4096)
		}
		lives[1].Heed(lives[0].Terms())
		lives[1].cluster(now)
		if s := lives[1].Shared(); s != nil {
			lives[0].Merge(1, s)
		}
		now = now.Add(time.Hour)
		lives[0].cluster(now)
	}
	p := lives[0].Progress()
	total, clustered, bursts := int64(0), int64(0), int64(0)
	for _, ns := range all.DurationNS {
		total += ns
	}
	for _, k := range p.Clusters {
		clustered, bursts = clustered+k.TimeNS, bursts+k.Bursts
	}
	if p.Bursts != all.Len() || lives[0].durations.TotalNS() != total || clustered > total || bursts > int64(all.Len()) {
		t.Errorf("%d bursts of %d ns, in clusters %d of %d ns; want %d of %d", p.Bursts, lives[0].durations.TotalNS(), bursts, clustered, all.Len(), total)
	}
	if p.Explained < .99 || len(p.Clusters) < 3 {
		t.Fatalf("%v explained, clusters %+v", p.Explained, p.Clusters)
	}
	for i := range 3 { // of equally many bursts, the longest first
		want := 2e6 * math.Pow(2, float64(2-i))
		if mean := float64(p.Clusters[i].TimeNS) / float64(p.Clusters[i].Bursts); math.Abs(mean/want-1) > .02 {
			t.Errorf("cluster %d has bursts of %.0f ns, want %.0f", i, mean, want)
		}
		if part := float64(p.Clusters[i].Bursts) / float64(all.Len()); math.Abs(part-1./3) > .02 {
			t.Errorf("cluster %d has %.3f of the bursts, want a third", i, part)
		}
	}
	sampled := int64(0)
	for _, g := range lives[0].order {
		for _, n := range g.sampled {
			sampled += n
		}
	}
	if most := 4 * members * int64(fedBursts+len(lives[0].order)); sampled > most {
		t.Errorf("%d bursts were taken at 4 looks of %d collectors", sampled, members)
	}
}
