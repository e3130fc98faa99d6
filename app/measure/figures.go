package measure

import (
	"os"
	"strconv"
	"strings"

	"moriens/trace/rundir"
)

// Figures are what `analyze --json` prints.
type Figures struct {
	Bursts         int                      `json:"bursts"`   // all of the trace
	Filtered       int                      `json:"filtered"` // by duration or range
	Missing        int                      `json:"missing"`  // lack a value for a dimension
	Noise          int                      `json:"noise"`
	Clusters       int                      `json:"clusters"`
	Kinds          int                      `json:"kinds"`           // of computation, of which clusters are
	ClusteredShare rundir.Number            `json:"clustered_share"` // of the computing time, 0–1, like all shares
	NoiseShare     rundir.Number            `json:"noise_share"`
	FilteredShare  rundir.Number            `json:"filtered_share"`
	MissingShare   rundir.Number            `json:"missing_share"`
	Score          rundir.Number            `json:"score"`     // how far the ranks do the same at the same time, 0–1; null = not defined
	Predicted      rundir.Number            `json:"predicted"` // how far the place of a burst foretells its kind, 0–1; null = none is foretold
	Eps            []rundir.Number          `json:"eps"`       // every one of the steps up to the answer, ascending
	Seconds        map[string]rundir.Number `json:"seconds"`
	PeakBytes      int64                    `json:"peak_bytes"` // most memory that this process held; 0 = unknown
	LinesSkipped   int                      `json:"lines_skipped"`
	Application    int                      `json:"application"` // of the trace, from 1 on; 0 = all
	Applications   int                      `json:"applications"`
	LeftOutShare   rundir.Number            `json:"records_left_out_share"`
	TimeMissing    rundir.Number            `json:"time_missing_share"`
	Notes          []string                 `json:"notes"` // what the user should know, as in the manifest
}

func figures(m *rundir.Manifest, c *rundir.Clusters, seconds map[string]rundir.Number) Figures {
	t := &c.Total
	return Figures{
		Bursts: t.Bursts, Filtered: t.FilteredBursts, Missing: t.MissingBursts, Noise: t.NoiseBursts, Clusters: len(c.Clusters), Kinds: c.Kinds,
		ClusteredShare: t.Clustered, NoiseShare: t.Noise, FilteredShare: t.Filtered, MissingShare: t.Missing,
		Score: c.Score, Predicted: c.Predicted, Eps: c.Eps, Seconds: seconds, PeakBytes: peakBytes(),
		LinesSkipped: m.Losses.LinesSkipped, Application: analysed(m.Applications), Applications: len(m.Applications),
		LeftOutShare: m.Reading.LeftOutShare, TimeMissing: m.Reading.MissingShare, Notes: append([]string{}, m.Notes...),
	}
}

// analysed is the number of the one application that was, 0 where all were.
func analysed(list []rundir.Application) int {
	number := 0
	for _, a := range list {
		if a.Analysed && number > 0 {
			return 0
		}
		if a.Analysed {
			number = a.Number
		}
	}
	return number
}

// peakBytes is the most that was resident of this process. The kernel's resource usage would not do: it counts
// from before the program began.
func peakBytes() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kb), "kB")), 10, 64)
			return n << 10
		}
	}
	return 0
}
