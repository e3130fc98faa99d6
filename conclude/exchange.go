package conclude

import (
	"context"
	"fmt"
	"math"
	"slices"

	"moriens/internal/team"
	"moriens/trace"
)

// What the members of a team tell each other while they make one run of what each of them has. Numbers travel as rows of int64.

// over says whether ctx has ended, at any member.
func (h *history) over(ctx context.Context) (bool, error) { return team.Any(h.team, ctx.Err() != nil) }

// why says why there was no time, at this member or another.
func (h *history) why(ctx context.Context) string {
	if ctx.Err() != nil {
		return context.Cause(ctx).Error()
	}
	return "another collector of the run ran out of time"
}

// ownerOf is the member that has what a process did.
func (h *history) ownerOf(process int32) int { return h.processes[process].Agent.Member }

func (h *history) mine(process int32) bool { return h.ownerOf(process) == h.team.Rank() }

// shareCuts tells all members from when to when what a process tells is not whole, for the processes of each.
func (h *history) shareCuts() error {
	if h.team.Size() == 1 {
		return nil
	}
	var own []int64
	for i := range h.processes {
		if cut := h.processes[i].cut; h.mine(int32(i)) && cut != never {
			own = append(own, int64(i), cut.startNS, cut.endNS)
		} else {
			h.processes[i].cut = never
		}
	}
	all, err := team.Gather(h.team, own)
	if err != nil {
		return err
	}
	for _, rows := range all {
		for ; len(rows) >= 3; rows = rows[3:] {
			h.processes[rows[0]].cut = interval{rows[1], rows[2]}
		}
	}
	return nil
}

// shareOpens tells all members of each other's sends and receives of which no end or peer is known.
func (m *matching) shareOpens(h *history) error {
	if h.team.Size() == 1 {
		return nil
	}
	const width = 7
	var own []int64
	for o, at := range m.opens {
		receive := int64(0)
		if o.receive {
			receive = 1
		}
		own = append(own, int64(o.process), int64(o.comm), int64(o.peer), int64(o.tag), receive, at.startNS, at.endNS)
	}
	all, err := team.Gather(h.team, own)
	if err != nil {
		return err
	}
	for _, rows := range all {
		for ; len(rows) >= width; rows = rows[width:] {
			key := open{int32(rows[0]), uint64(rows[1]), int32(rows[2]), int32(rows[3]), rows[4] != 0}
			m.opens[key] = interval{rows[5], rows[6]}
		}
	}
	return nil
}

// Rows of a stream's sends, and of each send in it.
const (
	streamWidth  = 6
	postingWidth = 8
)

// deliver brings the sends of every stream to the member that has the process which receives. Then the streams that end here are here alone, and as a whole.
func (m *matching) deliver(h *history) error {
	if h.team.Size() == 1 {
		return nil
	}
	parts := make([][]int64, h.team.Size())
	for key, sides := range m.streams {
		if h.mine(key.to) {
			continue
		}
		to := h.ownerOf(key.to)
		list := append(parts[to], int64(key.comm), int64(key.from), int64(key.to), int64(key.tag), key.channel, int64(len(sides.sends)))
		for i := range sides.sends {
			o := &sides.sends[i]
			list = append(list, int64(o.thread), int64(o.doneThread), int64(o.row), o.doneRow, int64(o.bytes), int64(o.ordinal), o.startNS, o.endNS)
		}
		parts[to] = list
		delete(m.streams, key)
	}
	all, err := team.Exchange(h.team, parts)
	if err != nil {
		return err
	}
	for _, rows := range all {
		for len(rows) >= streamWidth {
			key := stream{uint64(rows[0]), int32(rows[1]), int32(rows[2]), int32(rows[3]), rows[4]}
			n := rows[5]
			rows = rows[streamWidth:]
			sides := m.sidesOf(key)
			for ; n > 0 && len(rows) >= postingWidth; n, rows = n-1, rows[postingWidth:] {
				sides.sends = append(sides.sends, posting{
					thread: int32(rows[0]), doneThread: int32(rows[1]), row: uint32(rows[2]), doneRow: rows[3],
					bytes: uint64(rows[4]), ordinal: uint64(rows[5]), startNS: rows[6], endNS: rows[7],
				})
			}
		}
	}
	return nil
}

// sideWidth is how many numbers the sends of one ordinal take.
const sideWidth = 9

// deliverSides brings sends with their ordinals to the members that have the processes which receive. Only what ends here stays.
func (h *history) deliverSides(sides map[laneOrdinal]*pairOfSides) error {
	if h.team.Size() == 1 {
		return nil
	}
	parts := make([][]int64, h.team.Size())
	for key, s := range sides {
		if h.mine(key.to) {
			continue
		}
		to, o := h.ownerOf(key.to), &s.send
		parts[to] = append(parts[to], int64(key.comm), int64(key.from), int64(key.to), int64(key.tag), int64(key.ordinal), int64(s.sends),
			int64(o.thread), int64(o.row), int64(o.bytes))
		delete(sides, key)
	}
	lists, err := team.Exchange(h.team, parts)
	if err != nil {
		return err
	}
	for _, rows := range lists {
		for ; len(rows) >= sideWidth; rows = rows[sideWidth:] {
			key := laneOrdinal{stream{uint64(rows[0]), int32(rows[1]), int32(rows[2]), int32(rows[3]), -1}, uint64(rows[4])}
			s := sides[key]
			if s == nil {
				s = new(pairOfSides)
				sides[key] = s
			}
			s.send, s.sends = posting{thread: int32(rows[6]), row: uint32(rows[7]), bytes: uint64(rows[8])}, s.sends+int(rows[5])
		}
	}
	return nil
}

// whys are all reasons for a send or receive to have no counterpart.
var whys = [...]string{
	whyGap, whyUnrecorded, whyElsewhere, whyCommunicator, whyConcurrent, whyMismatch, whyNear, whyUnended, whyUntold, whyNone,
}

// addUp makes the counts of all members one.
func (m *matching) addUp(t team.Team) error {
	counts := []int64{m.sends, m.receives}
	for _, why := range whys {
		of := m.unpaired[why]
		if of == nil {
			of = new(trouble)
		}
		counts = append(counts, of.sends, of.receives)
	}
	if err := t.AllReduce(counts, team.Sum); err != nil {
		return err
	}
	m.sends, m.receives = counts[0], counts[1]
	for i, why := range whys {
		m.unpaired[why] = &trouble{counts[2+2*i], counts[3+2*i]}
	}
	return nil
}

// entries gives the times of the entries of a run's calls, of whichever member they are.
func (h *history) entries(run *trace.Run, of []place) (ns []int64, err error) {
	ns = make([]int64, len(of))
	if h.team.Size() == 1 {
		for i, p := range of {
			ns[i] = run.Threads[p.thread].Calls.EnterNS[p.row]
		}
		return ns, nil
	}
	questions := make([][]int64, h.team.Size())
	for _, p := range of {
		to := h.team.Owner(int(p.thread))
		questions[to] = append(questions[to], int64(p.thread), int64(p.row))
	}
	wanted, err := team.Exchange(h.team, questions)
	if err != nil {
		return nil, err
	}
	answers := make([][]int64, h.team.Size())
	for from, rows := range wanted {
		for ; len(rows) >= 2; rows = rows[2:] {
			calls := &run.Threads[rows[0]].Calls
			if rows[1] >= int64(calls.Len()) {
				return nil, fmt.Errorf("member %d asks for call %d of thread %d, which has %d", from, rows[1], rows[0], calls.Len())
			}
			answers[from] = append(answers[from], calls.EnterNS[rows[1]])
		}
	}
	replies, err := team.Exchange(h.team, answers)
	if err != nil {
		return nil, err
	}
	for i, p := range of {
		from := h.team.Owner(int(p.thread))
		ns[i], replies[from] = replies[from][0], replies[from][1:]
	}
	return ns, nil
}

// messageWidth is how many numbers a message takes.
const messageWidth = 9

// shareMessages gives all members the messages of each, in the run's order.
func (h *history) shareMessages(own []trace.Message) ([]trace.Message, error) {
	if h.team.Size() == 1 {
		return own, nil
	}
	var list []int64
	for _, m := range own {
		list = append(list, int64(m.From), int64(m.To), m.SendNS, m.PhysicalSendNS, m.RecvNS, m.PhysicalRecvNS, m.Bytes, m.Tag, m.LateNS)
	}
	lists, err := team.Gather(h.team, list)
	if err != nil {
		return nil, err
	}
	var all []trace.Message
	for _, rows := range lists {
		for ; len(rows) >= messageWidth; rows = rows[messageWidth:] {
			all = append(all, trace.Message{
				From: int(rows[0]), To: int(rows[1]), SendNS: rows[2], PhysicalSendNS: rows[3], RecvNS: rows[4], PhysicalRecvNS: rows[5],
				Bytes: rows[6], Tag: rows[7], LateNS: rows[8],
			})
		}
	}
	slices.SortFunc(all, trace.Message.Compare)
	return all, nil
}

// addUp makes what members have counted each at its threads one.
func (h *history) addUp() error {
	counts := []int64{h.unbalanced.ends, h.unbalanced.never}
	err := h.team.AllReduce(counts, team.Sum)
	h.unbalanced = unbalanced{counts[0], counts[1]}
	return err
}

// firstEntry is when the first call of the run was entered.
func (h *history) firstEntry() (ns int64, err error) {
	first := []int64{math.MaxInt64}
	for _, i := range h.own {
		if enter := h.run.Threads[i].Calls.EnterNS; len(enter) > 0 {
			first[0] = min(first[0], enter[0])
		}
	}
	err = h.team.AllReduce(first, team.Min)
	return first[0], err
}

// shareSpans tells all members when the threads of each began and ended.
func (h *history) shareSpans() error {
	spans := make([][]int64, len(h.run.Threads))
	for i := range spans {
		spans[i] = []int64{h.run.Threads[i].BeginNS, h.run.Threads[i].EndNS}
	}
	all, err := team.ByThread(h.team, spans)
	if err != nil {
		return err
	}
	for i, s := range all {
		h.run.Threads[i].BeginNS, h.run.Threads[i].EndNS = s[0], s[1]
	}
	return nil
}
