package rebuild

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	spawned   = moriensv1.Origin_HOW_SPAWNED
	parent    = moriensv1.Origin_HOW_PARENT
	accepted  = moriensv1.Origin_HOW_ACCEPTED
	connected = moriensv1.Origin_HOW_CONNECTED
	joined    = moriensv1.Origin_HOW_JOINED
)

// Which sides of meetings belong together. Each is of its own world; pairs name them by their places in the list.
func TestPairSides(t *testing.T) {
	for _, c := range []struct {
		name  string
		sides []side
		want  string
	}{
		{"spawned one after the other", []side{
			{how: spawned, size: 2, peers: 1, began: 10, ended: 20}, {how: spawned, size: 2, peers: 1, began: 21, ended: 30},
			{how: parent, size: 1, peers: 2, began: 25, ended: 29}, {how: parent, size: 1, peers: 2, began: 15, ended: 19},
		}, "0-3 1-2"},
		{"at the same time, of different sizes", []side{
			{how: spawned, size: 1, peers: 1, began: 10, ended: 20}, {how: spawned, size: 1, peers: 2, began: 10, ended: 20},
			{how: parent, size: 2, peers: 1, began: 15, ended: 19}, {how: parent, size: 1, peers: 1, began: 15, ended: 19},
		}, "0-3 1-2"},
		{"at the same time, alike", []side{
			{how: spawned, size: 1, peers: 1, began: 10, ended: 20}, {how: spawned, size: 1, peers: 1, began: 10, ended: 20},
			{how: parent, size: 1, peers: 1, began: 15, ended: 19}, {how: parent, size: 1, peers: 1, began: 15, ended: 19},
		}, ""},
		{"alike, but for who spawned them", []side{
			{how: spawned, size: 1, peers: 1, began: 10, ended: 20, text: "7.0"}, {how: spawned, size: 1, peers: 1, began: 10, ended: 20, text: "7.1"},
			{how: parent, size: 1, peers: 1, began: 15, ended: 19, text: "7.1"}, {how: parent, size: 1, peers: 1, began: 15, ended: 19, text: "7.0"},
		}, "0-3 1-2"},
		{"names of two kinds", []side{
			{how: spawned, size: 1, peers: 1, began: 10, ended: 20, text: "slurm.0"}, {how: parent, size: 1, peers: 1, began: 15, ended: 19, text: "7.0"},
		}, "0-1"},
		{"alike, and another that has not recorded", []side{
			{how: spawned, size: 1, peers: 1, began: 10, ended: 20}, {how: spawned, size: 1, peers: 1, began: 10, ended: 20},
			{how: parent, size: 1, peers: 1, began: 15, ended: 19},
		}, ""},
		{"what is left when others have theirs", []side{
			{how: spawned, size: 1, peers: 1, began: 10, ended: 30}, {how: spawned, size: 1, peers: 1, began: 20, ended: 40},
			{how: parent, size: 1, peers: 1, began: 15, ended: 19}, {how: parent, size: 1, peers: 1, began: 25, ended: 29},
		}, ""}, // 2 can only be 0's, but 0 may have started 3 as well
		{"started before", []side{
			{how: spawned, size: 1, peers: 1, began: 10, ended: 20}, {how: parent, size: 1, peers: 1, began: 9, ended: 15},
		}, ""},
		{"connected", []side{
			{how: accepted, size: 1, peers: 3, began: 10, ended: 20, text: "port"}, {how: accepted, size: 1, peers: 3, began: 21, ended: 30, text: "port"},
			{how: connected, size: 3, peers: 1, began: 5, ended: 20, text: "port"}, {how: connected, size: 3, peers: 1, began: 29, ended: 31},
		}, "0-2 1-3"},
		{"joined", []side{
			{how: joined, size: 1, peers: 1, began: 10, ended: 20}, {how: joined, size: 1, peers: 1, began: 15, ended: 20},
			{how: joined, size: 1, peers: 1, began: 30, ended: 40}, {how: accepted, size: 1, peers: 1, began: 30, ended: 40},
		}, "0-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sides := make(map[sideKey]*side)
			for i := range c.sides {
				c.sides[i].world, c.sides[i].id = i, uint64(100-i)
				sides[sideKey{i, uint64(100 - i), c.sides[i].how}] = &c.sides[i]
			}
			of := make(map[uint64][]int)
			for key, id := range pairSides(sides) {
				of[id] = append(of[id], key.world)
			}
			var got []string
			for _, worlds := range of {
				slices.Sort(worlds)
				got = append(got, strings.ReplaceAll(strings.Trim(fmt.Sprint(worlds), "[]"), " ", "-"))
			}
			slices.Sort(got)
			if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
				t.Error(d)
			}
		})
	}
}

// Two spawns one after the other are distinguished, however long a rank takes to return from the first.
func TestLateOutOfSpawn(t *testing.T) {
	sides := make(map[sideKey]*side)
	for i, calls := range [][][2]int64{{{10, 20}, {11, 35}}, {{21, 40}, {36, 41}}, {{15, 20}, {16, 34}}, {{30, 40}, {31, 38}}} {
		how := spawned
		if i > 1 {
			how = parent
		}
		s := &side{world: i, id: uint64(i), how: how, size: 2, peers: 2, began: calls[0][0], ended: calls[0][1]}
		s.join(calls[1][0], calls[1][1])
		sides[sideKey{i, s.id, how}] = s
	}
	common := pairSides(sides)
	for i := range 2 {
		id, paired := common[sideKey{i, uint64(i), spawned}]
		if !paired || id != common[sideKey{i + 2, uint64(i + 2), parent}] {
			t.Errorf("spawn %d: %v", i, common)
		}
	}
}

// A communicator that was made of one with a common id has such an id too, the same on both sides; other communicators
// have none.
func TestCommonIDs(t *testing.T) {
	member := func(id uint64, origin *moriensv1.Origin) store.Member {
		return store.Member{Communicator: &store.Communicator{Info: &moriensv1.Communicator{Id: id}}, Origin: origin}
	}
	derived := func(parent uint32) *moriensv1.Origin {
		return &moriensv1.Origin{How: moriensv1.Origin_HOW_DERIVED, Parent: parent, Key: 5}
	}
	common := map[sideKey]uint64{{0, 100, spawned}: 77, {1, 200, parent}: 77}
	var ids []uint64 // of what was derived
	for world, how := range []moriensv1.Origin_How{spawned, parent} {
		was := map[uint32]store.Member{
			1: member(uint64(100*(world+1)), &moriensv1.Origin{How: how}), 2: member(9, derived(1)), 3: member(9, nil), 4: member(9, derived(3)), 5: member(9, derived(6)),
		}
		p, own := &Process{Process: &store.Process{Comms: was}, World: world}, maps.Clone(was)
		if id, known := commonID(common, p, own, 1); !known || id != 77 {
			t.Errorf("world %d: %d, %v", world, id, known)
		}
		if id, known := commonID(common, p, own, 2); known {
			t.Errorf("world %d: what is derived is called %d before its parent is", world, id)
		}
		own[1] = member(77, was[1].Origin)
		id, known := commonID(common, p, own, 2)
		if !known {
			t.Errorf("world %d: what is derived has no common id", world)
		}
		ids = append(ids, id)
		for _, number := range []uint32{3, 4, 5} {
			if id, known := commonID(common, p, own, number); known {
				t.Errorf("world %d: communicator %d is called %d", world, number, id)
			}
		}
	}
	if ids[0] != ids[1] || ids[0] == 77 {
		t.Errorf("what is derived is called %d and %d", ids[0], ids[1])
	}
}
