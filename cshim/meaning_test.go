package cshim_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
	"moriens/internal/mpitest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A teller writes the records of a job's processes as lines that are the same under every MPI: communicators have names
// by their ids, in the order in which they are met, and requests are identified by what they do.
type teller struct {
	names map[uint64]string // of communicators, windows and files, by id
}

// open is a request that was made or started, and is not yet complete.
type open struct {
	receives bool
	made     string // the call
}

// requests are a process's, by handle: several can have one handle, and are then taken in the order of their making.
type requests struct {
	open       map[uint64][]open
	persistent map[uint64]open
}

func (tell *teller) comm(p *process, number uint32) string {
	if number == 0 {
		return "unknown"
	}
	c, defined := p.comms[number]
	if !defined {
		return fmt.Sprintf("undefined %d", number)
	}
	name, known := tell.names[c.ID]
	if !known {
		name = fmt.Sprintf("%s%d", kindOf(c), len(tell.names))
		tell.names[c.ID] = name
	}
	return name
}

func kindOf(c ring.Comm) string {
	switch {
	case c.Window:
		return "window"
	case c.File:
		return "file"
	case c.Inter:
		return "inter"
	}
	return "comm"
}

// members says who is in a communicator, seen from one rank.
func members(c ring.Comm) string {
	var ranks []string
	for _, run := range c.Ranks {
		for i := range run.Count {
			ranks = append(ranks, fmt.Sprint(int64(run.First)+int64(i)*int64(run.Stride)))
		}
	}
	s := fmt.Sprintf("rank %d of %d, peers [%s]", c.Rank, c.Size, strings.Join(ranks, " "))
	if len(ranks) != c.Peers {
		s += fmt.Sprintf(", which should be %d", c.Peers)
	}
	if c.Guessed {
		s += ", guessed"
	}
	if c.Cut {
		s += ", cut"
	}
	return s
}

func peer(rank int32) string {
	switch rank {
	case ring.Any:
		return "any"
	case ring.ProcNull:
		return "null"
	case ring.Root:
		return "ROOT"
	}
	return fmt.Sprint(rank)
}

var ways = map[ring.TransferKind]string{
	ring.Sent: "sends to", ring.Received: "receives from", ring.Probed: "finds from", ring.Put: "puts to", ring.Got: "gets from",
	ring.Written: "writes", ring.Read: "reads",
}

const stateTest = 6 // Paraver's, of a call that tests or probes

// process lists all records of a thread.
func (tell *teller) process(p *process, thread int) []string {
	var lines []string
	requests := requests{map[uint64][]open{}, map[uint64]open{}}
	met := map[uint32]bool{}
	for _, rec := range p.threads[thread] {
		var parts []string
		for _, number := range numbers(rec) {
			if number != 0 && !met[number] {
				met[number] = true
				lines = append(lines, fmt.Sprintf("%s: %s", tell.comm(p, number), members(p.comms[number])))
			}
		}
		if rec.IsCollective {
			c := rec.Collective
			part := fmt.Sprintf("collective %d of %s", c.Ordinal, tell.comm(p, c.Comm))
			if c.Root != ring.Any {
				part += ", root " + peer(c.Root)
			}
			if c.Sent+c.Received != 0 {
				part += fmt.Sprintf(", %d out, %d in", c.Sent, c.Received)
			}
			parts = append(parts, part)
		}
		for i, transfer := range rec.Transfers {
			parts = append(parts, tell.transfer(p, rec.Call, transfer, &requests, i))
		}
		for _, q := range rec.Requests {
			parts = append(parts, requests.event(rec.Call, q))
		}
		if len(parts) == 0 && rec.Call.ParaverState() == stateTest {
			continue // how often a program must ask depends on timing
		}
		lines = append(lines, ordinary(rec.Call)+strings.TrimSuffix(" "+strings.Join(parts, "; "), " "))
	}
	for _, left := range requests.open {
		for _, q := range left {
			lines = append(lines, "left open: "+q.made)
		}
	}
	return lines
}

// ordinary is the name of a call, or, of a form with large counts, that of the ordinary one.
func ordinary(call mpicall.ID) string { return strings.TrimSuffix(call.String(), "_c") }

// numbers lists the communicators that a record names.
func numbers(rec ring.Record) []uint32 {
	var list []uint32
	if rec.IsCollective {
		list = append(list, rec.Collective.Comm)
	}
	for _, transfer := range rec.Transfers {
		list = append(list, transfer.Comm)
	}
	return list
}

func (tell *teller) transfer(p *process, call mpicall.ID, t ring.Transfer, requests *requests, i int) string {
	s := fmt.Sprintf("%s %s %d", ways[t.Kind], peer(t.Peer), t.Bytes)
	if t.Kind == ring.Written || t.Kind == ring.Read {
		s = fmt.Sprintf("%s %d", ways[t.Kind], t.Bytes)
	}
	if t.Tag != ring.Any {
		s += fmt.Sprintf(" tag %d", t.Tag)
	}
	s += " in " + tell.comm(p, t.Comm)
	if t.Request == 0 {
		return s
	}
	if t.Kind == ring.Probed {
		return s + ", message"
	}
	q := open{t.Kind == ring.Received, ordinary(call)}
	class := call.Class()
	switch {
	case class == mpicall.Persistent || class == mpicall.Partitioned:
		requests.persistent[t.Request] = q
	case i == 0:
		requests.open[t.Request] = append(requests.open[t.Request], q)
	default: // the second transfer of one request
		queue := requests.open[t.Request]
		queue[len(queue)-1].receives = queue[len(queue)-1].receives || q.receives
	}
	return s + ", request"
}

// event follows the requests, and shows what one was.
func (r *requests) event(call mpicall.ID, q ring.Request) string {
	switch q.Event {
	case ring.Made:
		if call.Class() == mpicall.Persistent {
			r.persistent[q.Handle] = open{false, ordinary(call)}
		} else {
			r.open[q.Handle] = append(r.open[q.Handle], open{false, ordinary(call)})
		}
		return "request"
	case ring.Started:
		of, known := r.persistent[q.Handle]
		if !known {
			return "starts an unknown request"
		}
		r.open[q.Handle] = append(r.open[q.Handle], of)
		return "starts " + of.made
	case ring.Matched:
		return "message"
	case ring.Freed:
		delete(r.persistent, q.Handle)
		if len(r.open[q.Handle]) == 0 {
			return "frees"
		}
		return "frees " + r.take(q.Handle).made
	}
	if len(r.open[q.Handle]) == 0 {
		return "ends an unknown request"
	}
	of := r.take(q.Handle)
	s := map[ring.RequestEvent]string{ring.Completed: "ends ", ring.Cancelled: "cancelled "}[q.Event] + of.made
	if !of.receives || q.Event == ring.Cancelled {
		return s
	}
	bytes := fmt.Sprint(q.Bytes)
	if q.Bytes == ring.BytesUnknown {
		bytes = "untold bytes"
	}
	s += fmt.Sprintf(" of %s from %s", bytes, peer(q.Source))
	if q.Tag != ring.Any {
		s += fmt.Sprintf(" tag %d", q.Tag)
	}
	return s
}

func (r *requests) take(handle uint64) open {
	queue := r.open[handle]
	r.open[handle] = queue[1:]
	return queue[0]
}

// tellAll reports the first threads of all ranks, but for those that were spawned.
func tellAll(ranks map[int]*process) string {
	var b strings.Builder
	tell := teller{map[uint64]string{}}
	var order []int
	for rank := range ranks {
		order = append(order, rank)
	}
	slices.Sort(order)
	for _, rank := range order {
		if filepath.Base(ranks[rank].Executable) == "child" {
			continue
		}
		fmt.Fprintf(&b, "rank %d\n", rank)
		for _, line := range tell.process(ranks[rank], 0) {
			fmt.Fprintf(&b, "\t%s\n", line)
		}
	}
	return b.String()
}

// expectGolden compares the meaning of every record with what a file says.
func expectGolden(t *testing.T, name string, ranks map[int]*process) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	got := tellAll(ranks)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s:\n%s", path, diff)
	}
}

// TestManyRequests has one call wait for twenty thousand requests: each is recorded, in the order of the array.
func TestManyRequests(t *testing.T) {
	const n = 10000
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := job{mpi: mpi, preload: library, ranks: 1, program: []string{mpi.App(t, "meaning"), "many", fmt.Sprint(n)}}.run(t)
		succeed(t, o)
		p := expectExact(t, o)[0]
		records := p.threads[0]
		wait := records[len(records)-2]
		if wait.Call != mpicall.Waitall || len(wait.Requests) != 2*n {
			t.Fatalf("%v of %d requests", wait.Call, len(wait.Requests))
		}
		for i, q := range wait.Requests {
			made := records[1+2*(i%n)+i/n].Transfers[0]
			if q.Event != ring.Completed || q.Handle != made.Request || i < n && (q.Bytes != 4 || q.Source != 0 || q.Tag != int32(i)) {
				t.Fatalf("request %d is %+v, made as %+v", i, q, made)
			}
		}
	})
}

// TestTooManyRequests has a ring that cannot hold what one call ends: its record is dropped whole, and counted.
func TestTooManyRequests(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		// 2,048 slots: two for each of 900 requests, and one for each in the array.
		o := job{mpi: mpi, preload: library, ranks: 1, env: []string{"MORIENS_RING=1", "MORIENS_RING_MAX=0"}, program: []string{mpi.App(t, "meaning"), "many", "450"}}.run(t)
		succeed(t, o)
		ranks, _ := read(t, o.dir)
		p := ranks[0]
		want := map[string]int{"MPI_Init": 1, "MPI_Irecv": 450, "MPI_Isend": 450, "MPI_Finalize": 1}
		if diff := cmp.Diff(want, p.calls()); diff != "" || p.dropped != 1 {
			t.Errorf("dropped %d\n%s", p.dropped, diff)
		}
		if last := p.threads[0][len(p.threads[0])-1]; !last.Lost {
			t.Errorf("nothing says that a record is missing before %+v", last)
		}
	})
}

// TestCommunicatorsFindNoRoom makes more communicators than the log has room for: they are counted, what is recorded of
// them names none, and call paths that come later still find room.
func TestCommunicatorsFindNoRoom(t *testing.T) {
	const n = 10000
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		// With one frame a call path the log is smallest.
		o := job{mpi: mpi, preload: library, ranks: 1, env: []string{"MORIENS_CALLPATH=1"}, program: []string{mpi.App(t, "meaning"), "loop", fmt.Sprint(n)}}.run(t)
		succeed(t, o)
		p := expectExact(t, o)[0]
		nameless := 0
		for _, rec := range p.threads[0] {
			if _, defined := p.comms[rec.Collective.Comm]; rec.IsCollective && !defined {
				nameless++
			}
		}
		// MPI_COMM_SELF is named, because it was the first. Its freeing names each of the others.
		if lost := int(p.Losses().CommsLost); lost == 0 || lost+len(p.comms) != n+1 || nameless != lost {
			t.Errorf("%d communicators, %d lost, %d collectives without one", len(p.comms), lost, nameless)
		}
		last := p.threads[0][len(p.threads[0])-2]
		if last.Call != mpicall.Barrier || last.Collective.Comm == 0 || last.Collective.Ordinal != n || last.Path == 0 || p.Losses().PathsLost != 0 {
			t.Errorf("%+v, %d call paths lost", last, p.Losses().PathsLost)
		}
	})
}

// TestOrdinalsOfDropped: collectives count, and communicators are made, while there is no room for their records.
func TestOrdinalsOfDropped(t *testing.T) {
	const n = 3000
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		j := job{mpi: mpi, preload: library, env: []string{"MORIENS_RING=1", "MORIENS_RING_MAX=0"}, shm: t.TempDir(), out: t.TempDir(),
			program: []string{mpi.App(t, "meaning"), "barriers", fmt.Sprint(n)}}
		drained := make(chan error, 1)
		go func() { drained <- drain(j) }()
		o := j.run(t)
		if err := <-drained; err != nil {
			t.Fatal(err)
		}
		succeed(t, o)
		ranks, _ := read(t, o.dir)
		var ids []uint64
		for rank, p := range ranks {
			records := p.threads[0]
			if len(records) != 3 || !records[0].Lost || p.dropped == 0 {
				t.Fatalf("rank %d: %d records, %d dropped: %+v", rank, len(records), p.dropped, records)
			}
			// The communicator was made by the collective before the last of them.
			if own, world := records[0].Collective, records[1].Collective; own.Ordinal != 0 || world.Ordinal != n+1 || own.Comm == world.Comm {
				t.Errorf("rank %d: %+v, %+v", rank, own, world)
			}
			ids = append(ids, p.comms[records[0].Collective.Comm].ID)
		}
		if len(ids) != 2 || ids[0] != ids[1] {
			t.Errorf("ids %x", ids)
		}
	})
}

// drain reads the rings of both ranks of a job when these say that they are full, and lets them continue.
func drain(j job) error {
	deadline := time.Now().Add(2 * time.Minute)
	for rank := range 2 {
		for ; ; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(j.out, fmt.Sprintf("full.%d", rank))); err == nil {
				break
			} else if time.Now().After(deadline) {
				return err
			}
		}
	}
	found, err := ring.NewDirectory(ring.DirectoryPath(j.shm, os.Getuid(), "test")).Scan()
	if err != nil {
		return err
	}
	for _, path := range found.Rings {
		r, err := ring.OpenReader(path)
		if err != nil {
			return err
		}
		defer r.Close()
		if _, err := r.Read(make([]ring.Record, r.Slots()+1)); err != nil {
			return err
		}
		r.Release()
	}
	return os.WriteFile(filepath.Join(j.out, "read"), nil, 0o600)
}
