package rundir

import "math"

const (
	// LostMuch is from which share on, of the time in which a rank could run, its durations are not the program's, and
	// order alone distinguishes kinds. docs/overhead.md has what is lost where nothing else runs.
	LostMuch = .05
	// LostLeast is how long a rank has to have waited for that, s: programs that start together do on any machine.
	LostLeast = .2
)

// Scheduling is how the kernel has scheduled the ranks: time in which they could run is time on a core and time ready
// to run where others did.
type Scheduling struct {
	// LostShare is of the time in which they could run, of all ranks, 0–1; NaN: not known.
	LostShare     Number           `json:"lost_share"`
	Overcommitted bool             `json:"overcommitted"` // so much is lost somewhere that durations are not the program's, or ranks are more than their cores
	Warning       string           `json:"warning"`       // says so, and is the first of Notes; empty where nothing is to be said
	Hosts         []HostScheduling `json:"hosts"`
	Ranks         []RankScheduling `json:"ranks"`      // those that lost most where there are many
	MoreRanks     int              `json:"more_ranks"` // that are not in Ranks
}

// HostScheduling is that of the ranks of one host, and of its cores.
type HostScheduling struct {
	Host         string `json:"host"`
	Cores        int    `json:"cores"`         // that its ranks may run on together; 0 = not known
	RanksAtOnce  int    `json:"ranks_at_once"` // at most
	RunSeconds   Number `json:"run_seconds"`
	WaitSeconds  Number `json:"wait_seconds"`
	LostShare    Number `json:"lost_share"` // NaN: not known
	Voluntary    int64  `json:"voluntary_switches"`
	Involuntary  int64  `json:"involuntary_switches"`
	BusySeconds  Number `json:"busy_seconds"`  // of all cores, whatever ran there
	StealSeconds Number `json:"steal_seconds"` // of all cores, that other machines of its host had
	StealShare   Number `json:"steal_share"`   // of both; NaN: not known
}

// Crowded reports whether durations on the host may be the scheduler's rather than the program's: ranks have lost much
// of the time in which they could run, or that is not known and they share cores, or others had much of its hardware.
func (h *HostScheduling) Crowded() bool {
	return float64(h.LostShare) >= LostMuch || h.Stolen() || h.Shared() && math.IsNaN(float64(h.LostShare))
}

// Shared says that its ranks were more at once than the cores that they may run on.
func (h *HostScheduling) Shared() bool { return h.Cores > 0 && h.RanksAtOnce > h.Cores }

// Stolen says that other machines had much of its hardware.
func (h *HostScheduling) Stolen() bool {
	return float64(h.StealShare) >= LostMuch && h.StealSeconds >= LostLeast
}

// RankScheduling is that of a rank.
type RankScheduling struct {
	World       int    `json:"world"`
	Rank        int    `json:"rank"`
	Host        string `json:"host"`
	RunSeconds  Number `json:"run_seconds"`
	WaitSeconds Number `json:"wait_seconds"`
	LostShare   Number `json:"lost_share"`
	Voluntary   int64  `json:"voluntary_switches"`
	Involuntary int64  `json:"involuntary_switches"`
}
