package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"moriens/internal/mpitest"
)

// A way is how a job is measured.
type way int

const (
	byRun     way = iota // moriens run: agent and collector are one process
	byParts              // moriens collect and moriens agent
	byPreload            // LD_PRELOAD alone
	ways
)

func (w way) String() string {
	return [ways]string{"moriens run", "collect and agent", "plain preload"}[w]
}

// soakThreads is how many threads a rank has at most.
const soakThreads = 3

// libraries are the MPI libraries of jobs.
var libraries = []mpitest.MPI{mpitest.OpenMPI, mpitest.MPICH}

// soakDisk is the size of a run directory's disk that is filled, in bytes: the results have room when it is free.
const soakDisk = 192 << 20

// cells is how many combinations of way, library and threads there are: each round of so many in a row has another.
const cells = int(ways) * soakThreads * 2

// A soakPlan is a round of make soak. It follows from the round's number alone.
type soakPlan struct {
	seed                    uint64
	way                     way
	mpi                     int // index into libraries
	ranks, threads          int
	iterations, batch       int
	work, pause             int // steps of computing an iteration; us of sleep after each 64 iterations
	status                  int // of the program
	ring, ringMax           int // bytes, and to how many it grows; 0: the usual
	spoolMiB                int // its bound; 0: the usual
	smallMiB                int // size of the spool's disk; 0: it has room
	named, keepAll, limited bool
	incidents               []incident
}

// before is when an incident happens that does so before the job starts.
const before = -time.Second

// possible lists the faults that can happen to a round.
func (p *soakPlan) possible() []fault {
	list := []fault{killAgent, killAgent, killCollector, freezeAgent, freezeAgent, freezeRank, killRank, removeSpool, removeMeeting, fillDisk}
	if p.way == byParts {
		list = append(list, killCollector, freezeCollector, freezeCollector, cutConnections)
	}
	if p.smallMiB > 0 {
		list = append(list, fillSpool, fillSpool, fillSpool)
	}
	return list
}

func soakPlanOf(seed uint64) soakPlan {
	random := rand.New(rand.NewPCG(seed, 0x50a4))
	cell := int(seed) % cells
	p := soakPlan{seed: seed, way: way(cell % int(ways)), mpi: cell / int(ways) % 2, threads: 1 + cell/int(ways)/2}
	one := func(choice ...int) int { return choice[random.IntN(len(choice))] }
	p.ranks = one(1, 2, 2, 2, 2)
	if libraries[p.mpi].Name == mpitest.OpenMPI.Name {
		p.ranks = one(1, 2, 2, 2, 3)
	}
	p.batch = one(1, 2, 4, 4, 8, 16, 48)
	p.iterations = (2000 + random.IntN(14000)) / (p.batch + 2) * 4
	if libraries[p.mpi].Name == mpitest.OpenMPI.Name && p.threads > 1 { // its threads wait for each other by turns
		p.iterations /= 8
	}
	p.work = one(0, 100, 1000, 5000)
	if length := one(0, 1000, 2000, 3000); length > 0 { // ms, where nothing else takes time
		p.pause = length * 1000 / (p.iterations/64 + 1)
	}
	p.status = one(0, 0, 0, 0, 0, 0, 0, 5)
	p.ring = one(0, 0, 65536, 262144, 1<<20)
	p.spoolMiB = one(0, 0, 1, 2, 4, 8, 16)
	p.smallMiB = one(0, 0, 4, 8, 12, 16)
	p.named, p.keepAll, p.limited = random.IntN(2) == 0, random.IntN(2) == 0, random.IntN(8) == 0
	list := p.possible()
	for range one(0, 1, 1, 2, 2, 3, 4) {
		f := list[random.IntN(len(list))]
		i := incident{fault: f, rank: random.IntN(p.ranks), at: time.Duration(random.IntN(2000)) * time.Millisecond}
		switch f {
		case killAgent, killCollector:
			i.lasts = time.Duration(random.IntN(1500)) * time.Millisecond
		case fillSpool, fillDisk:
			i.lasts = time.Duration(500+random.IntN(3500)) * time.Millisecond
			if f == fillSpool && random.IntN(4) == 0 {
				i.at = before
			}
		default:
			i.lasts = time.Duration(300+random.IntN(2500)) * time.Millisecond
		}
		p.limited = p.limited || f == fillDisk
		p.incidents = append(p.incidents, i)
	}
	slices.SortFunc(p.incidents, func(a, b incident) int { return int(a.at - b.at) })
	p.ringMax = one(0, 0, 0, 65536, 262144, 1<<20) // less than the ring: it does not grow
	return p
}

func (p *soakPlan) has(faults ...fault) bool {
	return slices.ContainsFunc(p.incidents, func(i incident) bool { return slices.Contains(faults, i.fault) })
}

// program is the mini-app's command line.
func (p *soakPlan) program(app string) []string {
	return []string{app, "-t", strconv.Itoa(p.threads), "-i", strconv.Itoa(p.iterations), "-b", strconv.Itoa(p.batch),
		"-w", strconv.Itoa(p.work), "-p", strconv.Itoa(p.pause), "-x", strconv.Itoa(p.status)}
}

// result is what it works out: testdata/miniapp/crowd.c.
func (p *soakPlan) result() string {
	var sum uint64
	for rank := range p.ranks {
		for thread := range p.threads {
			for i := range p.iterations {
				for b := range p.batch {
					x := uint64(rank)*1000003 + uint64(thread)*7919 + uint64(i)*127 + uint64(b)
					x *= 0x9e3779b97f4a7c15
					sum += x ^ x>>29
				}
			}
		}
	}
	return strconv.FormatUint(sum, 10)
}

func (p *soakPlan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "round %d: %v, %s, %d ranks of %d threads, %d iterations of %d sends, %d steps, %d us; status %d, ring %d to %d, spool %d MiB on %d MiB (named: %t), keep all: %t, limited disk: %t",
		p.seed, p.way, libraries[p.mpi].Name, p.ranks, p.threads, p.iterations, p.batch, p.work, p.pause, p.status, p.ring, p.ringMax, p.spoolMiB, p.smallMiB, p.named, p.keepAll, p.limited)
	for _, i := range p.incidents {
		fmt.Fprintf(&b, "; at %v %v (%v, rank %d)", i.at, i.fault, i.lasts, i.rank)
	}
	return b.String()
}
