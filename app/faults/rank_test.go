package faults

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
)

// A rank is a separate process that writes a ring for each of its threads, with the shim's own code. The burst
// before its k-th call has k instructions, and the call sends k+1 bytes, by which both are known again; some of the
// first thread's meet all other ranks. What a thread has done is in a file that outlives the process.
type rank struct {
	Dir                 string // of the rings
	Truth               string // directory for the files
	Rank, Size, Threads int
	Calls               int
	Seed                uint64
}

// meets is how many calls of a rank's first thread are between two that all ranks make together, where windows of full
// detail end.
const meets = 8

// slots of a ring: a call takes three, so that an agent that is away for a tenth of a second costs calls.
const slots = 8192

// args are what makes this test's program a rank.
func (r rank) args() []string {
	return []string{"rank", "-dir", r.Dir, "-truth", r.Truth, fmt.Sprintf("-rank=%d", r.Rank), fmt.Sprintf("-size=%d", r.Size),
		fmt.Sprintf("-threads=%d", r.Threads), fmt.Sprintf("-calls=%d", r.Calls), fmt.Sprintf("-seed=%d", r.Seed)}
}

func rankOf(args []string) (r rank, err error) {
	f := flag.NewFlagSet("rank", flag.ContinueOnError)
	f.StringVar(&r.Dir, "dir", "", "")
	f.StringVar(&r.Truth, "truth", "", "")
	f.IntVar(&r.Rank, "rank", 0, "")
	f.IntVar(&r.Size, "size", 0, "")
	f.IntVar(&r.Threads, "threads", 0, "")
	f.IntVar(&r.Calls, "calls", 0, "")
	f.Uint64Var(&r.Seed, "seed", 0, "")
	return r, f.Parse(args)
}

func (r rank) run() error {
	p, err := ringwriter.New(r.Dir, ringwriter.Identity{Rank: r.Rank, Size: r.Size, PID: os.Getpid(), World: "faults", Events: "PAPI_TOT_INS"})
	if err != nil {
		return err
	}
	p.Comm(ringwriter.Comm{Number: 1, ID: 99, Rank: r.Rank, Size: r.Size, Ranks: []ringwriter.Ranks{{First: 0, Stride: 1, Count: uint32(r.Size)}}})
	var rings []*ringwriter.Ring
	var truths []*truth
	for thread := range r.Threads {
		ring, err := p.GrowingThread(slots, 1+int(r.Seed%3)) // of two rounds in three it grows
		if err != nil {
			return err
		}
		t, err := newTruth(truthPath(r.Truth, r.Rank, thread))
		if err != nil {
			return err
		}
		rings, truths = append(rings, ring), append(truths, t)
	}
	// As MPI_Init does: an agent takes a job for over when none of its ranks is there for a while.
	awaitRanks(r.Truth, r.Size, r.Threads)
	call, path := mpicall.Allreduce, p.Path(ringwriter.Frame{Offset: 16})
	var all sync.WaitGroup
	for thread, ring := range rings {
		all.Go(func() {
			t, random := truths[thread], rand.New(rand.NewPCG(r.Seed, uint64(r.Rank*100+thread)))
			for k := range r.Calls {
				if random.IntN(32) == 0 {
					time.Sleep(time.Duration(random.IntN(4000)) * time.Microsecond)
				}
				t.begin()
				enter := now()
				if !ring.CallMeaning(call, path, enter, now(), r.meaning(thread, k)) {
					t.drop(k)
				}
				t.end()
			}
		})
	}
	all.Wait()
	p.Finalize()
	p.Exit()
	return nil
}

// meaning is what a thread's k-th call means.
func (r rank) meaning(thread, k int) ringwriter.Meaning {
	m := ringwriter.Meaning{Counts: []int64{int64(k)}, Transfers: []shmabi.Transfer{{
		Kind: shmabi.SlotSent, Bytes: uint64(k) + 1, Peer: int32((r.Rank + 1) % r.Size), Tag: int32(thread), Comm: 1,
	}}}
	if thread == 0 && k%meets == 0 {
		m.Collectives = []shmabi.Collective{{Sent: 8, Received: 8, Ordinal: uint32(k / meets), Root: shmabi.RankAny, Comm: 1}}
	}
	return m
}

func now() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &t); err != nil {
		panic(err)
	}
	return uint64(t.Nano())
}

// A truth is what a thread has done: how many calls it has begun, how many ended, and how many found no room. The
// mapped memory of a file survives whatever kills the process.
type truth struct {
	begun, ended *atomic.Uint64
	drops        *os.File
}

func truthPath(dir string, rank, thread int) string {
	return filepath.Join(dir, fmt.Sprintf("%d.%d", rank, thread))
}

func newTruth(path string) (*truth, error) {
	drops, err := os.Create(path + ".drops") // before what begun looks for
	if err != nil {
		return nil, err
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(16); err != nil {
		return nil, err
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, 16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &truth{
		begun: (*atomic.Uint64)(unsafe.Pointer(&memory[0])), ended: (*atomic.Uint64)(unsafe.Pointer(&memory[8])), drops: drops,
	}, f.Close()
}

// awaitRanks waits until all ranks have got as far as to record.
func awaitRanks(dir string, ranks, threads int) {
	for rank := range ranks {
		for !begun(dir, rank, threads) {
			time.Sleep(time.Millisecond)
		}
	}
}

// begun reports whether a rank has got as far as to record.
func begun(dir string, rank, threads int) bool {
	info, err := os.Stat(truthPath(dir, rank, threads-1))
	return err == nil && info.Size() == 16
}

func (t *truth) begin() { t.begun.Add(1) }
func (t *truth) end()   { t.ended.Add(1) }

func (t *truth) drop(k int) {
	if err := binary.Write(t.drops, binary.LittleEndian, uint64(k)); err != nil {
		panic(err)
	}
}

// A record is what readTruth finds.
type record struct {
	begun, ended int
	dropped      map[int]bool
}

func readTruth(path string) (r record, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if len(data) != 16 {
		return r, fmt.Errorf("%s: %d bytes", path, len(data))
	}
	r.begun, r.ended = int(binary.LittleEndian.Uint64(data)), int(binary.LittleEndian.Uint64(data[8:]))
	drops, err := os.ReadFile(path + ".drops")
	r.dropped = make(map[int]bool)
	for ; len(drops) >= 8; drops = drops[8:] {
		r.dropped[int(binary.LittleEndian.Uint64(drops))] = true
	}
	return r, err
}
