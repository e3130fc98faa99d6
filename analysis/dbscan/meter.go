package dbscan

import (
	"fmt"
	"time"

	"moriens/internal/team"
)

// A StageCost is what one stage of shared work has cost a member so far.
type StageCost struct {
	Name    string
	Calls   int   // collective ones
	Bytes   int64 // that the member has sent to others; of a reduction those that it gave
	Seconds float64
}

// A meter is a team that says what its calls have cost.
type meter struct {
	team.Team
	costs []StageCost
	now   int // the stage
	since time.Time
}

// stage begins a stage; an empty name ends the last one.
func (m *meter) stage(name string) {
	at := time.Now()
	if m.now >= 0 {
		m.costs[m.now].Seconds += at.Sub(m.since).Seconds()
	}
	m.since, m.now = at, -1
	if name == "" {
		return
	}
	for i := range m.costs {
		if m.costs[i].Name == name {
			m.now = i
			return
		}
	}
	m.now = len(m.costs)
	m.costs = append(m.costs, StageCost{Name: name})
}

func (m *meter) add(bytes int) {
	if m.now >= 0 {
		m.costs[m.now].Calls++
		m.costs[m.now].Bytes += int64(bytes)
	}
}

// AllGather implements team.Team.
func (m *meter) AllGather(mine []byte) ([][]byte, error) {
	m.add(len(mine) * (m.Size() - 1))
	return m.Team.AllGather(mine)
}

// AllToAll implements team.Team.
func (m *meter) AllToAll(parts [][]byte) ([][]byte, error) {
	bytes := 0
	for i, part := range parts {
		if i != m.Rank() {
			bytes += len(part)
		}
	}
	m.add(bytes)
	return m.Team.AllToAll(parts)
}

// AllReduce implements team.Team.
func (m *meter) AllReduce(values []int64, op team.Op) error {
	m.add(8 * len(values))
	return m.Team.AllReduce(values, op)
}

// every reports whether something is so at all members.
func (m *meter) every(is bool) (bool, error) {
	not, err := team.Any(m, !is)
	return !not, err
}

// A route leads from elements of lists that members have to elements of lists that others have.
type route struct {
	out [][]int32 // per member: which of this one's elements it has counterparts of
	in  [][]int32 // per member: which elements here are the counterparts of those that it lists for this one, in their order
}

func (r route) back() route { return route{out: r.in, in: r.out} }

// along sends a value of each element on its way, and takes those that come.
func along[T team.Plain](t team.Team, r route, value func(i int32) T, take func(i int32, v T)) error {
	parts := make([][]T, len(r.out))
	for m, list := range r.out {
		parts[m] = make([]T, len(list))
		for j, i := range list {
			parts[m][j] = value(i)
		}
	}
	got, err := team.Exchange(t, parts)
	if err != nil {
		return err
	}
	for m, list := range r.in {
		if len(got[m]) != len(list) {
			return misfit(m, len(got[m]), len(list))
		}
		for j, i := range list {
			take(i, got[m][j])
		}
	}
	return nil
}

func misfit(member, got, want int) error {
	return fmt.Errorf("dbscan: member %d sent %d values, not %d", member, got, want)
}
