package journal_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"moriens/collector/journal"
	"moriens/internal/section"
	"moriens/internal/testenv"
	moriensv1 "moriens/proto/moriens/v1"
)

const benchRows = 1024

// record is a message of bursts with two counters, as it arrives over the wire, after room for the head.
func record(b *testing.B, random *rand.Rand, sequence uint64) []byte {
	x := &section.Block{Ring: 2, First: (sequence - 3) * benchRows}
	x.Grow(benchRows, 2)
	for kind := range 4 {
		x.Sites = append(x.Sites, section.Site{Function: uint16(1 + kind%3)})
	}
	for i := range benchRows {
		kind := i % 4
		ticks := uint64(100_000<<kind) + random.Uint64N(2000<<kind)
		x.Site[i], x.Burst[i], x.Call[i] = uint16(kind), ticks, 500+random.Uint64N(4000)
		x.Counts[0][i], x.Counts[1][i] = int64(ticks)*2+random.Int64N(100), int64(ticks)
	}
	m := &moriensv1.ReportRequest{Sequence: sequence, Body: &moriensv1.ReportRequest_Sections{Sections: new(section.Encoder).Calls(nil, x)}}
	r, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, journal.HeadBytes), m)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func benchAgent(b *testing.B, j *journal.Journal) *sender {
	a := greet(b, j, 1)
	p := process(1)
	p.GetProcess().Events = []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"}
	for _, m := range []*moriensv1.ReportRequest{p, ring(2, 1)} {
		if err := a.send(m); err != nil {
			b.Fatal(err)
		}
	}
	return a
}

// BenchmarkTake is what a burst with two counters costs from the wire's bytes to safety on disk, decoding and store
// included: wall clock, which a slow disk lengthens, and processor time.
func BenchmarkTake(b *testing.B) {
	j := open(b, filepath.Join(b.TempDir(), "journal"))
	defer j.Close()
	a := benchAgent(b, j)
	random := rand.New(rand.NewPCG(1, 1))
	var records [][]byte
	for i := range b.N {
		records = append(records, record(b, random, uint64(i)+3))
	}
	cpu := testenv.ProcessorTime()
	b.ResetTimer()
	for _, r := range records {
		m := new(moriensv1.ReportRequest)
		if err := proto.Unmarshal(r[journal.HeadBytes:], m); err != nil {
			b.Fatal(err)
		}
		if err := j.Take(b.Context(), a.agent, m, r, a.set); err != nil {
			b.Fatal(err)
		}
	}
	safe := make(chan bool)
	j.Barrier(func() { close(safe) })
	<-safe
	b.StopTimer()
	bursts := float64(b.N * benchRows)
	s := j.Stats()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/bursts, "ns/burst")
	b.ReportMetric(float64(testenv.ProcessorTime()-cpu)/bursts, "cpu-ns/burst")
	b.ReportMetric(float64(len(records[0]))/benchRows, "wire-B/burst")
	b.ReportMetric(float64(s.Bytes)/bursts, "disk-B/burst")
	b.ReportMetric(float64(s.Syncs), "syncs")
}

// BenchmarkReplay is what a burst costs when a journal is opened again.
func BenchmarkReplay(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "journal")
	j := open(b, dir)
	a := benchAgent(b, j)
	random := rand.New(rand.NewPCG(1, 1))
	const messages = 500
	for i := range uint64(messages) {
		r := record(b, random, i+3)
		m := new(moriensv1.ReportRequest)
		if err := proto.Unmarshal(r[journal.HeadBytes:], m); err != nil {
			b.Fatal(err)
		}
		if err := j.Take(b.Context(), a.agent, m, r, a.set); err != nil {
			b.Fatal(err)
		}
	}
	safe := make(chan bool)
	j.Barrier(func() { close(safe) })
	<-safe
	j.Close()
	for b.Loop() {
		again := open(b, dir)
		if n := again.Store().Totals().Bursts; n != messages*benchRows {
			b.Fatal(n)
		}
		again.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*messages*benchRows), "ns/burst")
}
