package measure

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/agent/uplink"
	"moriens/collector/windows"
	"moriens/conclude"
	"moriens/cshim/ringwriter"
	"moriens/internal/anchor"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	"moriens/internal/shmabi"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
)

// line is one call of a window.
type line struct{ row, bytes uint64 } // that it has moved

// movesOf are the blocks of sections of moves.
func movesOf(t *testing.T, sections []byte) (list []*section.Block) {
	t.Helper()
	for x := new(section.Section); len(sections) > 0; {
		b := new(section.Block)
		var err error
		if sections, err = x.Read(sections); err == nil {
			err = new(section.Decoder).Moves(x, b)
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

// lines takes the calls of a window's parts, in order.
func lines(t *testing.T, parts []*moriensv1.WindowPart) map[windows.Key][]line {
	t.Helper()
	got := make(map[windows.Key][]line)
	for _, p := range parts {
		at := windows.Key{Process: p.Process, Window: anchor.ID(p.Window)}
		for i := range p.Ring {
			for row := p.FirstRow[i]; row < p.BehindRow[i]; row++ {
				got[at] = append(got[at], line{row, 0})
			}
		}
		slices.SortFunc(got[at], func(a, b line) int { return int(a.row) - int(b.row) })
		for _, b := range movesOf(t, p.Sections) {
			for _, x := range b.Transfers {
				i, _ := slices.BinarySearchFunc(got[at], x.Row, func(l line, row uint64) int { return int(l.row) - int(row) })
				got[at][i].bytes = x.Bytes
			}
		}
	}
	return got
}

// A node with room for all windows and one with room for some: what one keeps the other keeps too, pinned windows are
// kept on both, and a fetch returns what the ranks wrote.
func TestWindowsOfSeveralNodes(t *testing.T) {
	t.Parallel()
	const ranks, perNode, iterations, sends = 4, 2, 4000, 16
	c := startCollector(t, "127.0.0.1:0")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	limit := func(node int) units.Bytes { return 1 << (20 + 4*node) }
	var nodes []*agent.Node
	var dirs []string
	var processes []*ringwriter.Process
	var rings []*ringwriter.Ring
	done := make(chan error, ranks)
	for i := range ranks / perNode {
		shm := t.TempDir()
		dir := ring.DirectoryPath(shm, os.Getuid(), "run1")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, t.TempDir()+"/spool")
		node, err := agent.New(agent.Config{
			Run: "run1", Shm: shm, Find: uplink.At(c.Rendezvous()), Log: quiet, Clocks: new(exactClock), Grace: 200 * time.Millisecond,
			Spool: dirs[i], SpoolMax: limit(i),
		})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, node)
		go func() { done <- node.Run(context.Background()) }()
		for range perNode {
			p, err := ringwriter.New(dir, ringwriter.Identity{Rank: len(processes), Size: ranks, World: "w"})
			if err != nil {
				t.Fatal(err)
			}
			p.Comm(ringwriter.Comm{Number: 1, ID: 99, Rank: len(processes), Size: ranks, Ranks: []ringwriter.Ranks{{First: 0, Stride: 1, Count: ranks}}})
			w, err := p.Thread(1 << 12)
			if err != nil {
				t.Fatal(err)
			}
			processes, rings = append(processes, p), append(rings, w)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	written := make(map[windows.Key][]line)
	write := func(from, to int) {
		for i := from; i < to; i++ {
			for rank, w := range rings {
				at := windows.Key{Process: processes[rank].ID(), Window: anchor.After(uint64(i))}
				for k := range sends + 1 {
					n := uint64(i*(sends+1) + k)
					enter := 1_000_000_000 + n*1_000_000 + random.Uint64N(500_000)
					exit := enter + random.Uint64N(500_000)
					bytes := random.Uint64N(1 << 60)
					call := mpicall.Send
					m := ringwriter.Meaning{Transfers: []shmabi.Transfer{{Bytes: bytes, Peer: int32((rank + 1) % ranks), Tag: int32(k), Comm: 1, Kind: uint32(ring.Sent)}}}
					if k == sends {
						call, bytes = mpicall.Allreduce, 0
						m = ringwriter.Meaning{Collectives: []shmabi.Collective{{Sent: 8, Received: 8, Ordinal: uint32(i), Root: -1, Comm: 1}}}
					}
					awaitRoom(t, w, slotsOfCall)
					if !w.CallMeaning(call, 0, enter, exit, m) {
						t.Fatal("the ring is full")
					}
					written[at] = append(written[at], line{n, bytes})
				}
			}
			time.Sleep(200 * time.Microsecond)
		}
	}
	await := func(anchors int) { // until all agents have read so far
		t.Helper()
		for {
			arrived := 0
			for _, f := range c.Windows().Fetch(ctx, []anchor.ID{anchor.After(uint64(anchors))}) {
				if f.Err != nil {
					t.Fatal(f.Err)
				}
				arrived += len(lines(t, f.Parts))
			}
			if arrived == ranks {
				return
			}
			if ctx.Err() != nil {
				t.Fatalf("%d of %d ranks are at iteration %d", arrived, ranks, anchors)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	write(0, 20)
	await(19) // young enough to be there on all
	pins := []anchor.ID{anchor.After(3), anchor.After(17), anchor.After(500), anchor.After(iterations - 1)}
	for _, k := range c.Windows().Keep(ctx, moriensv1.Keep_WHY_PINNED, "a test", pins) {
		if k.Err != nil || k.Held != 2*perNode || k.Ahead != 2*perNode || len(k.Gone) > 0 {
			t.Fatalf("%+v", k)
		}
	}
	write(20, iterations) // of which the last is pinned
	await(iterations - 1)

	var all []anchor.ID
	for i := range iterations {
		all = append(all, anchor.After(uint64(i)))
	}
	// Each node has the windows whose chunks are below its own hash, of both its ranks.
	var kept []map[anchor.ID]bool
	fetched := c.Windows().Fetch(ctx, all)
	slices.SortFunc(fetched, func(a, b windows.Fetched) int { return len(b.Gone) - len(a.Gone) })
	for i, f := range fetched {
		if f.Err != nil {
			t.Fatal(f.Err)
		}
		of := make(map[anchor.ID]int)
		for at := range lines(t, f.Parts) {
			of[at.Window]++
		}
		mine := make(map[anchor.ID]bool)
		for w, n := range of {
			if mine[w] = true; n != perNode {
				t.Errorf("node %d has window %d of %d ranks", i, w, n)
			}
		}
		kept = append(kept, mine)
	}
	for w := range kept[0] {
		if !kept[1][w] {
			t.Errorf("window %d is on the smaller node alone", w)
		}
	}
	for i, f := range fetched {
		got := lines(t, f.Parts)
		for at, calls := range got {
			if !slices.Equal(written[at], calls) {
				t.Fatalf("window %+v differs (-want +got):\n%s", at, cmp.Diff(written[at], calls, cmp.AllowUnexported(line{})))
			}
		}
		if len(got)+len(f.Gone) != perNode*iterations {
			t.Errorf("node %d: %d windows, %d gone", i, len(got), len(f.Gone))
		}
		for _, w := range pins {
			if !kept[i][w] {
				t.Errorf("node %d: pinned window %d is gone", i, w)
			}
		}
	}
	if a, b := len(kept[0]), len(kept[1]); a <= len(pins) || a == b || b != iterations {
		t.Errorf("%d and %d windows of %d", a, b, iterations)
	}
	one := processes[3].ID()
	for _, f := range c.Windows().Fetch(ctx, pins[:1], one) {
		for at := range lines(t, f.Parts) {
			if at.Process != one {
				t.Errorf("window %+v was not asked for", at)
			}
		}
	}

	for i, w := range rings {
		w.Call(named(t, "MPI_Finalize"), 0, 1<<40, 1<<40)
		processes[i].Finalize()
	}
	for _, n := range nodes {
		n.JobOver()
	}
	for range nodes {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range dirs {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left in the spool: %v, %v", left, err)
		}
	}
	for _, k := range c.Windows().Keep(ctx, moriensv1.Keep_WHY_PINNED, "too late", pins) {
		if !errors.Is(k.Err, windows.ErrGone) {
			t.Errorf("%+v", k)
		}
	}
	result, err := concludeAll(t, c.Freeze(""), conclude.Job{Run: "run1"}, byDuration)
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range result.Manifest.Notes {
		if strings.Contains(note, "full detail is missing") {
			t.Error(note)
		}
	}
	evicted := int64(0)
	for _, f := range fetched {
		evicted += int64(len(f.Gone))
	}
	if l := result.Manifest.Losses; l.WindowsEvicted < evicted || l.SpoolEvictedBytes == 0 {
		t.Errorf("%d windows were gone; losses %+v", evicted, l)
	}
}
