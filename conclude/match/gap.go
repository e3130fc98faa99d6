package match

import "math"

// A Gap is a time in which postings of a process may be missing.
type Gap struct{ StartNS, EndNS int64 }

// Nothing is missing, and anything may be.
var (
	NoGap    = Gap{math.MaxInt64, math.MinInt64}
	Anywhere = Gap{math.MinInt64, math.MaxInt64}
)

// Union is the time from the begin of the first to the end of the last of two gaps.
func (a Gap) Union(b Gap) Gap { return Gap{min(a.StartNS, b.StartNS), max(a.EndNS, b.EndNS)} }
