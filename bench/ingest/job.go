package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"moriens/internal/mpicall"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// ticksPerNS is of a counter of 3 GHz.
const ticksPerNS = 3

// kinds are what the bursts of the job are like.
var kinds = []struct{ ns, ipc float64 }{{20_000, 1.1}, {150_000, 1.8}, {900_000, .6}, {60_000, 2.4}, {400_000, 1.3}}

// spread is how far, as a standard deviation of logarithms, bursts of a kind differ.
const spread = .03

// A job is what the ranks of one node record: five kinds of bursts, with instructions and cycles, between five calls.
type job struct {
	node  int
	rand  *rand.Rand
	ticks [ranksOfNode]uint64

	block   section.Block
	encoder section.Encoder
}

func newJob(node int) *job { return &job{node: node, rand: rand.New(rand.NewPCG(uint64(node), 7))} }

func hello(run string, node int) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Hello{Hello: &moriensv1.Hello{
		Run: run, Agent: uint64(node + 1), Host: fmt.Sprintf("n%d", node), Version: "load", Cpus: ranksOfNode,
	}}}
}

func (j *job) process(rank int) uint64 { return uint64(j.node*ranksOfNode+rank)<<8 | 1 }
func (j *job) ring(rank int) uint64    { return uint64(j.node*ranksOfNode+rank)<<8 | 2 }

// definitions come before all bursts.
func (j *job) definitions() (list []*moriensv1.ReportRequest) {
	for i := range 2 {
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{
			Clock: moriensv1.Clock_CLOCK_TSC, Ticks: 1e12 + uint64(i)*ticksPerNS*1e9, MonotonicNs: 1e9 + int64(i)*1e9, RealtimeNs: 1.7e18 + int64(i)*1e9, UncertaintyNs: 100,
		}}})
	}
	for rank := range ranksOfNode {
		j.ticks[rank] = 1e12
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{
			Process: j.process(rank), Rank: int32(j.node*ranksOfNode + rank), Size: 1 << 20, World: "load", Host: fmt.Sprintf("n%d", j.node),
			Executable: "load", MpiLibrary: "none", Pid: uint32(rank + 1), Clock: moriensv1.Clock_CLOCK_TSC, Events: []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"},
		}}}, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: j.ring(rank), Process: j.process(rank)}}})
		for path := range kinds {
			list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: &moriensv1.CallPath{
				Process: j.process(rank), Path: uint32(path + 1), Frames: []*moriensv1.Frame{{Module: "/load", Offset: uint64(64 * (path + 1))}},
			}}})
		}
	}
	return list
}

// calls makes the message of a given number: the ranks speak in turn.
func (j *job) calls(number int) *moriensv1.ReportRequest {
	rank := number % ranksOfNode
	first := uint64(number/ranksOfNode) * messageBursts
	b := &j.block
	b.Empty()
	b.Ring, b.First, b.Origin = j.ring(rank), first, j.ticks[rank]
	b.Grow(messageBursts, 2)
	for i := range kinds { // in the order of their first rows
		b.Sites = append(b.Sites, section.Site{Function: uint16(mpicall.Allreduce), Path: uint32((int(first)+i)%len(kinds) + 1)})
	}
	for i := range messageBursts {
		kind := (int(first) + i) % len(kinds)
		ns := kinds[kind].ns * math.Exp(spread*j.rand.NormFloat64())
		cycles := ns * 2.5
		b.Site[i] = uint16(i % len(kinds))
		b.Burst[i] = uint64(ns * ticksPerNS)
		b.Call[i] = uint64(float64(ticksPerNS) * 4000 * math.Exp(.5*j.rand.NormFloat64()))
		b.Counts[0][i] = int64(cycles * kinds[kind].ipc * math.Exp(spread*j.rand.NormFloat64()))
		b.Counts[1][i] = int64(cycles)
		j.ticks[rank] += b.Burst[i] + b.Call[i]
	}
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Sections{Sections: j.encoder.Calls(nil, b)}}
}
