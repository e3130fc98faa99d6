package pin

import "time"

const (
	// comparing and searching are the processor time that looks may take of each second of the job: to compare calls with
	// the shapes, and to search where they do not fit. Neither takes from the other: calls that fit must not keep searches
	// waiting, however many there are.
	comparing, searching = 300 * time.Microsecond, 200 * time.Microsecond
	// collected is by how much more a search takes than its own thread shows: what it leaves is collected by others.
	collected = 1.25
	// callTime is what it takes at most to take a call out of its section and compare it with the shapes.
	callTime = 20 * time.Nanosecond
	// firstBurstTime is taken for what a search takes of each burst until one has shown it.
	firstBurstTime = 2 * time.Microsecond
)

// A budget is credits of processor time that grow with the job.
type budget struct {
	compare, search time.Duration
	burstTime       time.Duration // that a search takes of each burst,
	bursts          int           // of so many
}

func newBudget() budget {
	// The first look may search.
	return budget{search: collected * fewBursts * firstBurstTime, burstTime: firstBurstTime, bursts: fewBursts}
}

// grow adds the credit of so much of the job. What is not used is kept for one look, and for one search of as many
// bursts as there may be.
func (b *budget) grow(passed time.Duration) {
	part := func(of time.Duration) time.Duration { return time.Duration(float64(of) * passed.Seconds()) }
	b.compare = min(b.compare, part(comparing)) + part(comparing)
	b.search = min(b.search+part(searching), max(b.searchTakes(recentBursts), part(searching)))
}

// searchTakes is what a search of so many bursts takes at most.
func (b *budget) searchTakes(bursts int) time.Duration {
	took := time.Duration(collected * float64(bursts) * float64(b.burstTime))
	if bursts > 2*b.bursts {
		took /= 2 // of many it takes less of each
	}
	return took
}

// affords reports whether there is credit for a search of so many bursts.
func (b *budget) affords(bursts uint32) bool { return b.search >= b.searchTakes(int(bursts)) }

// searched charges a search.
func (b *budget) searched(bursts int, took time.Duration) {
	b.search -= time.Duration(collected * float64(took))
	if bursts > 0 {
		b.burstTime, b.bursts = max(took/time.Duration(bursts), 1), bursts
	}
}

// rows is how many calls may be compared with the shapes now.
func (b *budget) rows() uint32 { return uint32(max(recentBursts, b.compare/callTime)) }
