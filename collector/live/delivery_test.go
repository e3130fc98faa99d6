package live

import (
	"slices"
	"testing"

	"moriens/analysis/grouping"
	"moriens/collector/store"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

const callNS = 1000

// A delivery has an agent report a job, a part of each thread's bursts at a time. A tick is a nanosecond.
type delivery struct {
	job   grouping.Bursts
	store *store.Store
	apply func(*moriensv1.ReportRequest)
	sent  []int    // bursts of each thread
	at    []uint64 // ticks
	start []uint64 // of each burst
}

func deliver(t testing.TB, job grouping.Bursts) *delivery {
	t.Helper()
	d := &delivery{job: job, sent: make([]int, len(job.ThreadEnds)), at: make([]uint64, len(job.ThreadEnds)), start: make([]uint64, job.Len())}
	d.store, d.apply = reported(t)
	for _, ns := range []int64{0, 1e15} {
		d.apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{
			Clock: moriensv1.Clock_CLOCK_TSC, Ticks: 1 + uint64(ns), MonotonicNs: ns, RealtimeNs: ns,
		}}})
	}
	paths := max(slices.Max(job.Before), slices.Max(job.After))
	for thread := range job.ThreadEnds {
		id := uint64(thread)
		d.at[thread] = 1
		d.apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{
			Process: id, Rank: int32(thread), Size: int32(len(job.ThreadEnds)), Clock: moriensv1.Clock_CLOCK_TSC, Events: job.CounterNames,
		}}})
		d.apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: id, Process: id}}})
		for path := range paths {
			d.apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: &moriensv1.CallPath{
				Process: id, Path: path + 1, Frames: []*moriensv1.Frame{{Module: "m", Offset: uint64(path)}},
			}}})
		}
	}
	return d
}

// next reports the next part of the job, in messages of so many rows at most.
func (d *delivery) next(part, parts, rows int) {
	begin := 0
	for thread, end := range d.job.ThreadEnds {
		upTo := begin + (end-begin)*(part+1)/parts
		for from := begin + d.sent[thread]; from < upTo; {
			to := min(upTo, from+min(rows, section.MaxRows))
			d.send(thread, begin, from, to)
			from = to
		}
		begin = end
	}
}

func (d *delivery) send(thread, begin, from, to int) {
	c := &sectiontest.Rows{
		Ring: uint64(thread), First: uint64(from - begin), Origin: d.at[thread], Counts: make([][]int64, len(d.job.Counters)),
	}
	for i := from; i < to; i++ {
		d.start[i] = d.at[thread]
		c.Add(uint32(mpicall.Allreduce), d.job.After[i], uint64(d.job.DurationNS[i]), callNS)
		for k, column := range d.job.Counters {
			c.Counts[k] = append(c.Counts[k], column[i])
		}
		d.at[thread] += uint64(d.job.DurationNS[i]) + callNS
	}
	d.sent[thread] = to - begin
	d.apply(c.Message())
}
