package match

import "moriens/internal/team"

// What the members of a team send each other. Numbers travel as rows of int64.

// ShareGaps is collective: it gives each member the gaps of the processes of all. Each has those of its own.
func ShareGaps(t team.Team, processes []Process) error {
	if t.Size() == 1 {
		return nil
	}
	var own []int64
	for i := range processes {
		if gap := processes[i].Gap; processes[i].Owner == t.Rank() && gap != NoGap {
			own = append(own, int64(i), gap.StartNS, gap.EndNS)
		} else {
			processes[i].Gap = NoGap
		}
	}
	all, err := team.Gather(t, own)
	if err != nil {
		return err
	}
	for _, rows := range all {
		for ; len(rows) >= 3; rows = rows[3:] {
			processes[rows[0]].Gap = Gap{rows[1], rows[2]}
		}
	}
	return nil
}

// shareOpen gives all members each other's sends and receives of which no end or peer is known.
func (p *Postings) shareOpen(t team.Team) error {
	if t.Size() == 1 {
		return nil
	}
	const width = 7
	var own []int64
	for o, at := range p.open {
		receive := int64(0)
		if o.receive {
			receive = 1
		}
		own = append(own, int64(o.process), int64(o.comm), int64(o.peer), int64(o.tag), receive, at.StartNS, at.EndNS)
	}
	all, err := team.Gather(t, own)
	if err != nil {
		return err
	}
	for _, rows := range all {
		for ; len(rows) >= width; rows = rows[width:] {
			key := open{int32(rows[0]), uint64(rows[1]), int32(rows[2]), int32(rows[3]), rows[4] != 0}
			p.open[key] = Gap{rows[5], rows[6]}
		}
	}
	return nil
}

// Rows of a stream's sends, and of each send in it.
const (
	streamWidth  = 6
	postingWidth = 8
)

// deliver brings the sends of every stream to the member that has the process which receives. Then this member alone
// has the streams that end here, and has them whole.
func (p *Postings) deliver(t team.Team, processes []Process) error {
	if t.Size() == 1 {
		return nil
	}
	parts := make([][]int64, t.Size())
	for key, s := range p.streams {
		to := processes[key.To].Owner
		if to == t.Rank() {
			continue
		}
		list := append(parts[to], int64(key.Comm), int64(key.From), int64(key.To), int64(key.Tag), key.Channel, int64(len(s.sends)))
		for i := range s.sends {
			o := &s.sends[i]
			list = append(list, int64(o.Thread), int64(o.DoneThread), int64(o.Row), o.DoneRow, int64(o.Bytes), int64(o.Ordinal), o.StartNS, o.EndNS)
		}
		parts[to] = list
		delete(p.streams, key)
	}
	all, err := team.Exchange(t, parts)
	if err != nil {
		return err
	}
	for _, rows := range all {
		for len(rows) >= streamWidth {
			key := Stream{uint64(rows[0]), int32(rows[1]), int32(rows[2]), int32(rows[3]), rows[4]}
			n := rows[5]
			rows = rows[streamWidth:]
			s := p.of(key)
			for ; n > 0 && len(rows) >= postingWidth; n, rows = n-1, rows[postingWidth:] {
				s.sends = append(s.sends, Posting{
					Thread: int32(rows[0]), DoneThread: int32(rows[1]), Row: uint32(rows[2]), DoneRow: rows[3],
					Bytes: uint64(rows[4]), Ordinal: uint64(rows[5]), StartNS: rows[6], EndNS: rows[7],
				})
			}
		}
	}
	return nil
}

// total is collective: it adds up the counts of all members.
func total(t team.Team, sends, receives int64, unpaired Unpaired) (allSends, allReceives int64, err error) {
	counts := []int64{sends, receives}
	for _, why := range reasons {
		counts = append(counts, unpaired[why].Sends, unpaired[why].Receives)
	}
	if err := t.AllReduce(counts, team.Sum); err != nil {
		return 0, 0, err
	}
	for i, why := range reasons {
		unpaired[why] = Count{counts[2+2*i], counts[3+2*i]}
	}
	return counts[0], counts[1], nil
}
