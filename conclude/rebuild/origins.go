package rebuild

import (
	"cmp"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
)

// A side is the ranks of one world in an intercommunicator that brought worlds together. They do not know what the
// other side calls it.
type side struct {
	world        int
	id           uint64
	how          moriensv1.Origin_How
	size, peers  uint32
	began, ended int64  // the call that brought them together, from its first begin to its last end, of MPI_Comm_spawn to its first: ns in the run's time
	text         string // what both sides know, if they do
}

type sideKey struct {
	world int
	id    uint64
	how   moriensv1.Origin_How
}

// unite finds out which communicators of different worlds are one, and gives these one id. It returns the communicators
// of each process by the id that they have in all worlds.
//
// Ranks that MPI_Comm_spawn has started, or that met at a port, cannot ask each other: each side has an id of its own
// for the intercommunicator between them. Which two belong together follows from who can have met: of sizes that fit,
// at a time that fits (MPI-5.0, section 11.8.2: MPI_Comm_spawn and MPI_Init of those that it starts are one collective
// call), with the name of the same process or port where it is known. Where more than one could be meant none is taken.
// What was made of such a communicator by calls of its ranks, such as MPI_Intercomm_merge, follows from that.
func unite(u *unpacked) []map[uint32]store.Member {
	own := make([]map[uint32]store.Member, len(u.Processes))
	sides := make(map[sideKey]*side)
	for i := range u.Processes {
		p := &u.Processes[i]
		own[i] = maps.Clone(p.Comms)
		for _, m := range p.Comms {
			if m.Origin != nil && m.Origin.How != moriensv1.Origin_HOW_DERIVED {
				u.at.addSide(sides, p, m)
			}
		}
	}
	common := pairSides(sides)
	for i := range u.Processes {
		for _, number := range slices.Sorted(maps.Keys(own[i])) { // what another was made of is before it
			if id, known := commonID(common, &u.Processes[i], own[i], number); known {
				m := own[i][number]
				info := proto.CloneOf(m.Info)
				info.Id, info.Guessed = id, false
				m.Communicator = &store.Communicator{Info: info}
				own[i][number] = m
			}
		}
	}
	return own
}

func (s *commonTime) addSide(sides map[sideKey]*side, p *Process, m store.Member) {
	counter, line, _ := s.clocks.local(p.Process)
	began, ended := s.at(counter, line.at(m.Origin.Began)), s.at(counter, line.at(m.Origin.Ended))
	key := sideKey{p.World, m.Info.Id, m.Origin.How}
	of := sides[key]
	if of == nil {
		of = &side{world: p.World, id: m.Info.Id, how: m.Origin.How, size: m.Info.Size, peers: m.Info.Peers, began: began, ended: ended}
		sides[key] = of
	}
	of.join(began, ended)
	of.text = cmp.Or(of.text, m.Origin.Text)
}

// join takes in the call of one more rank. No rank returns from MPI_Comm_spawn before those that are started are in
// MPI_Init: what begins when the first one has returned was started by another call, though the last one is still in
// this.
func (s *side) join(began, ended int64) {
	s.began = min(s.began, began)
	if s.how == moriensv1.Origin_HOW_SPAWNED {
		s.ended = min(s.ended, ended)
	} else {
		s.ended = max(s.ended, ended)
	}
}

// meets says whether two sides can be those of one meeting.
func (s *side) meets(o *side) bool {
	if s.world == o.world && s.id == o.id || s.size != o.peers || s.peers != o.size {
		return false
	}
	switch s.how {
	case moriensv1.Origin_HOW_SPAWNED:
		return o.how == moriensv1.Origin_HOW_PARENT && s.began <= o.began && o.began <= s.ended
	case moriensv1.Origin_HOW_ACCEPTED:
		return o.how == moriensv1.Origin_HOW_CONNECTED && s.began <= o.ended && o.began <= s.ended
	case moriensv1.Origin_HOW_JOINED:
		return o.how == moriensv1.Origin_HOW_JOINED && s.began <= o.ended && o.began <= s.ended
	}
	return false
}

// pairSides gives the sides of each meeting an id that both have.
func pairSides(sides map[sideKey]*side) map[sideKey]uint64 {
	list := slices.SortedFunc(maps.Values(sides), func(a, b *side) int {
		return cmp.Or(cmp.Compare(a.world, b.world), cmp.Compare(a.id, b.id), cmp.Compare(a.how, b.how))
	})
	can := make(map[*side][]*side)
	for _, s := range list {
		for _, o := range list {
			if s.meets(o) {
				can[s] = append(can[s], o)
				if s.how != moriensv1.Origin_HOW_JOINED { // else o meets s as well
					can[o] = append(can[o], s)
				}
			}
		}
	}
	for _, s := range list {
		can[s] = sameText(s, can[s])
	}
	common := make(map[sideKey]uint64)
	for found := true; found; {
		found = false
		for _, s := range list {
			if len(can[s]) != 1 {
				continue
			}
			o := can[s][0]
			if back := can[o]; len(back) != 1 || back[0] != s {
				continue
			}
			found = true
			can[s], can[o] = nil, nil
			for _, other := range list {
				can[other] = slices.DeleteFunc(can[other], func(x *side) bool { return x == s || x == o })
			}
			id := mix(mix(uint64(len(common)), s.id), o.id)
			common[sideKey{s.world, s.id, s.how}], common[sideKey{o.world, o.id, o.how}] = id, id
		}
	}
	return common
}

// sameText leaves those with the same text, if any has; not all sides know it.
func sameText(s *side, list []*side) []*side {
	same := slices.DeleteFunc(slices.Clone(list), func(o *side) bool { return s.text == "" || o.text != s.text })
	if len(same) > 0 {
		return same
	}
	return list
}

// commonID is what a communicator is called on all of its ranks, of all worlds, where that is known.
func commonID(common map[sideKey]uint64, p *Process, own map[uint32]store.Member, number uint32) (id uint64, known bool) {
	m := own[number]
	if m.Origin == nil {
		return 0, false
	}
	if m.Origin.How != moriensv1.Origin_HOW_DERIVED {
		id, known = common[sideKey{p.World, m.Info.Id, m.Origin.How}]
		return id, known
	}
	from := own[m.Origin.Parent]
	if from.Communicator == nil || from.Info == p.Comms[m.Origin.Parent].Info { // which has no other id than before
		return 0, false
	}
	return mix(from.Info.Id, m.Origin.Key), true
}

// mix hashes; the constant is 2^64 divided by the golden ratio.
func mix(hash, value uint64) uint64 {
	hash = (hash ^ value) * 0x9e3779b97f4a7c15
	return hash ^ hash>>29
}
