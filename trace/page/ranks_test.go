package page_test

import (
	"slices"
	"testing"

	"moriens/trace"
	"moriens/trace/page"
	"moriens/trace/parquet"
)

// TestRanks adds a profile up by hand: three ranks, the second of which has two threads, in groups of one thread and of
// two.
func TestRanks(t *testing.T) {
	counters := []trace.Counter{{Name: "PAPI_TOT_CYC"}, {Name: "PAPI_TOT_INS"}}
	rows := &trace.Run{Counters: []trace.Counter{counters[1]}, Threads: []trace.Thread{{Rank: 0}, {Rank: 1}, {Rank: 1, Thread: 1}, {Rank: 2}}}
	sum := func(cycles, instructions int64) []parquet.ProfileCounter {
		return []parquet.ProfileCounter{{Sum: cycles}, {Sum: instructions}}
	}
	profile := &parquet.Profile{Counters: counters, Rows: []parquet.ProfileRow{
		{Kind: parquet.ProfileComputation, Rank: 0, Cluster: 1, Count: 3, TimeNS: 3e9, Counters: sum(7, 30)},
		{Kind: parquet.ProfileComputation, Rank: 0, Cluster: 1, Count: 1, TimeNS: 1e9, Counters: sum(7, 10)}, // in another phase
		{Kind: parquet.ProfileComputation, Rank: 1, Cluster: -1, Count: 2, TimeNS: 5e8, Counters: sum(7, 4)},
		{Kind: parquet.ProfileComputation, Rank: 2, Cluster: 1, Count: 8, TimeNS: 2e9, Counters: sum(7, 80)},
		{Kind: parquet.ProfileMPI, Rank: 0, Count: 4, TimeNS: 25e7, SentBytes: 100, ReceivedBytes: 1},
		{Kind: parquet.ProfileMPI, Rank: 1, Count: 4, TimeNS: 1e9, InTraffic: true},
		{Kind: parquet.ProfileMPI, Rank: 1, Thread: 1, Count: 4, TimeNS: 2e9, InTraffic: true},
		{Kind: parquet.ProfileMPI, Rank: 2, Count: 1, TimeNS: 5e8, SentBytes: 7, ReceivedBytes: 9},
		{Kind: parquet.ProfileDurations, Cluster: 1, Count: 12},
		{Kind: parquet.ProfileIterations, Count: 3, TimeNS: 9e9},
		{Kind: parquet.ProfileTraffic, Rank: 1, Count: 5, SentBytes: 1000, ReceivedBytes: 3000}, // of both threads
		{Kind: parquet.ProfileTraffic, Rank: 2, Count: 5, SentBytes: 10, ReceivedBytes: 20},
		{Kind: parquet.ProfileTraffic, Rank: 5, Count: 5, SentBytes: 1, ReceivedBytes: 1}, // which the run has not
	}}
	for groups, want := range map[int]map[string][]float64{
		4: {
			"rank.seconds_in_mpi": {.25, 1, 2, .5}, "rank.computing_seconds": {4, .5, 0, 2}, "rank.bursts": {4, 2, 0, 8},
			"rank.sent_bytes": {100, 1000, 0, 17}, "rank.received_bytes": {1, 3000, 0, 29},
			"heat.group": {0, 1, 3}, "heat.cluster": {1, -1, 1}, "heat.bursts": {4, 2, 8}, "heat.seconds": {4, .5, 2}, "heat.counter.0": {40, 4, 80},
		},
		2: {
			"rank.seconds_in_mpi": {1.25, 2.5}, "rank.computing_seconds": {4.5, 2}, "rank.bursts": {6, 8},
			"rank.sent_bytes": {1100, 17}, "rank.received_bytes": {3001, 29},
			"heat.group": {0, 0, 1}, "heat.cluster": {-1, 1, 1}, "heat.bursts": {2, 4, 8}, "heat.seconds": {.5, 4, 2}, "heat.counter.0": {4, 40, 80},
		},
	} {
		s := written(t, page.Source{Rows: rows, Profile: profile}, page.Limits{Points: 10, Rows: groups})
		for name, column := range want {
			if got := s.Floats[name]; !slices.Equal(got, column) {
				t.Errorf("in %d groups %s is %v, want %v", groups, name, got, column)
			}
		}
	}
}
