package live

import "slices"

// Codes say what a thread did; a cluster has CodeCluster + its ID.
const (
	CodeMPI      int32 = 1
	CodeNoise    int32 = 2
	CodeFiltered int32 = 3
	CodeMissing  int32 = 4
	CodeCluster  int32 = 5
)

const (
	// historyBins are so many at most: where there would be more, they become twice as long.
	historyBins  = 600
	historyBinNS = int64(1e9)
	// historyNS is how far they reach: a later time, of a program that has overwritten its ring, is none, and would
	// overflow.
	historyNS = int64(1) << 62
)

// A history is what the threads of a job did over time, summed over all of them: by what a burst was when it arrived.
type history struct {
	binNS int64
	bins  []map[int32]int64 // ns by code
}

// add spreads a time over its bins.
func (h *history) add(code int32, fromNS, toNS int64) {
	if h.binNS == 0 {
		h.binNS = historyBinNS
	}
	toNS = min(toNS, historyNS)
	for fromNS = max(fromNS, 0); fromNS < toNS; {
		bin := fromNS / h.binNS
		if bin >= historyBins {
			h.widen()
			continue
		}
		for int64(len(h.bins)) <= bin {
			h.bins = append(h.bins, make(map[int32]int64))
		}
		end := min(toNS, (bin+1)*h.binNS)
		h.bins[bin][code] += end - fromNS
		fromNS = end
	}
}

// spread has so much time of several threads together over its bins, evenly from one moment to another. What was before
// the first bin is in it.
func (h *history) spread(code int32, fromNS, toNS, ns int64) {
	fromNS = min(max(fromNS, 0), historyNS-1)
	toNS = min(max(toNS, fromNS+1), historyNS)
	if h.binNS == 0 {
		h.binNS = historyBinNS
	}
	for toNS > h.binNS*historyBins {
		h.widen()
	}
	given := int64(0)
	for at := fromNS; at < toNS; {
		bin := at / h.binNS
		at = min(toNS, (bin+1)*h.binNS)
		upTo := int64(float64(ns) * (float64(at-fromNS) / float64(toNS-fromNS)))
		if at == toNS {
			upTo = ns
		}
		for int64(len(h.bins)) <= bin {
			h.bins = append(h.bins, make(map[int32]int64))
		}
		h.bins[bin][code] += upTo - given
		given = upTo
	}
}

// widen puts each two bins together.
func (h *history) widen() {
	h.binNS *= 2
	for i := range (len(h.bins) + 1) / 2 {
		wide := h.bins[2*i]
		if 2*i+1 < len(h.bins) {
			for code, ns := range h.bins[2*i+1] {
				wide[code] += ns
			}
		}
		h.bins[i] = wide
	}
	h.bins = h.bins[:(len(h.bins)+1)/2]
}

// A Profile is what the threads of a job did over time.
type Profile struct {
	FromNS  int64       `json:"from_ns"` // since the first call that arrived
	BinNS   int64       `json:"bin_ns"`
	Codes   []int32     `json:"codes"`
	Seconds [][]float64 `json:"seconds"` // by bin and code, summed over all threads
}

// profile lists the history by codes: those of no cluster, those of the clusters that are named, and one, CodeCluster
// itself, for all others.
func (h *history) profile(named []Cluster) Profile {
	p := Profile{BinNS: h.binNS, Codes: []int32{CodeMPI, CodeNoise, CodeFiltered, CodeMissing, CodeCluster}, Seconds: [][]float64{}}
	for _, k := range named {
		p.Codes = append(p.Codes, CodeCluster+k.ID)
	}
	for _, bin := range h.bins {
		row := make([]float64, len(p.Codes))
		for code, ns := range bin {
			at := slices.Index(p.Codes, code)
			if at < 0 {
				at = slices.Index(p.Codes, CodeCluster)
			}
			row[at] += float64(ns) / 1e9
		}
		p.Seconds = append(p.Seconds, row)
	}
	return p
}
