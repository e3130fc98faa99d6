package parquet

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func pairsFile(t testing.TB, rows []PairsRow) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WritePairs(&b, rows); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readPairs(file []byte) ([]PairsRow, error) {
	return ReadPairs(bytes.NewReader(file), int64(len(file)))
}

// rounded are rows as they are in a file.
func rounded(rows []PairsRow) []PairsRow {
	rows = slices.Clone(rows)
	for i := range rows {
		r := &rows[i]
		r.BlockedNS, r.LongestNS, r.FirstNS = threeDigits(r.BlockedNS), threeDigits(r.LongestNS), threeDigits(r.FirstNS)
		if r.LateNS >= 0 {
			r.LateNS, r.LateErrorNS = threeDigits(r.LateNS), threeDigits(r.LateErrorNS)
		}
	}
	return rows
}

// stencil are rows of ranks on a grid with 26 neighbours each.
func stencil(ranks int, r *rand.Rand) (rows []PairsRow) {
	side := int(math.Round(math.Cbrt(float64(ranks))))
	place := func(x, y, z int) int32 {
		wrap := func(n int) int { return (n + side) % side }
		return int32((wrap(x)*side+wrap(y))*side + wrap(z))
	}
	for x := range side {
		for y := range side {
			for z := range side {
				own := place(x, y, z)
				for n := range 27 {
					dx, dy, dz := n/9-1, n/3%3-1, n%3-1
					if n == 13 {
						continue
					}
					bytes := int64(8)
					for _, d := range []int{dx, dy, dz} {
						if d == 0 {
							bytes *= 64
						}
					}
					peer := place(x+dx, y+dy, z+dz)
					row := PairsRow{Kind: PairsReceived, Rank: own, Peer: peer, SameHost: own/48 == peer/48, FromBytes: -1, ToBytes: -1, Messages: 1000, Bytes: 1000 * bytes}
					row.BlockedNS = int64(1e6 * r.ExpFloat64())
					row.LongestNS, row.FirstNS, row.LateNS = row.BlockedNS/50, row.BlockedNS/900+int64(1000*r.ExpFloat64()), int64(float64(row.BlockedNS)*r.Float64())
					rows = append(rows, row)
					row.Kind, row.BlockedNS, row.LongestNS, row.FirstNS, row.LateNS = PairsSent, 0, 0, 0, 0
					rows = append(rows, row)
				}
			}
		}
	}
	SortPairs(rows)
	return rows
}

// What ranks of a stencil of more than 10,000 send and receive takes 6 bytes a row at most.
func TestPairsSize(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	rows := stencil(22*22*22, rand.New(rand.NewPCG(seed, 0)))
	file := pairsFile(t, rows)
	each := float64(len(file)) / float64(len(rows))
	t.Logf("%d rows, %.2f bytes each", len(rows), each)
	if each > 6 {
		t.Errorf("%.2f bytes a row", each)
	}
	back, err := readPairs(file)
	if err != nil || !slices.Equal(back, rounded(rows)) {
		t.Errorf("%d rows of %d: %v", len(back), len(rows), err)
	}
}

func anyPairs(t *rapid.T) []PairsRow {
	kinds := []string{PairsSent, PairsReceived, PairsPut, PairsGot, PairsCollective}
	row := rapid.Custom(func(t *rapid.T) PairsRow {
		number := func(name string) int64 { return rapid.Int64Range(0, math.MaxInt64).Draw(t, name) }
		r := PairsRow{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), World: rapid.Int32Range(0, 3).Draw(t, "world"), Rank: rapid.Int32Range(0, 3000).Draw(t, "rank"),
			PeerWorld: -1, Peer: -1, SameHost: rapid.Bool().Draw(t, "same host"), FromBytes: -1, ToBytes: -1, Messages: number("messages"), Bytes: number("bytes"), LateNS: -1, LateErrorNS: -1,
		}
		if rapid.Bool().Draw(t, "one peer") {
			r.PeerWorld, r.Peer = rapid.Int32Range(0, 3).Draw(t, "peer world"), rapid.Int32Range(0, 3000).Draw(t, "peer")
		}
		if rapid.Bool().Draw(t, "sized") {
			r.FromBytes = 1 << rapid.IntRange(0, 40).Draw(t, "size")
			r.ToBytes = 2*r.FromBytes - 1
		}
		if r.ofMessages() {
			r.BlockedNS = number("blocked")
			if rapid.Bool().Draw(t, "late") {
				r.LateNS, r.LateErrorNS = number("late"), number("error")
			}
		}
		if r.timed() {
			r.LongestNS, r.FirstNS = number("longest"), number("first")
		}
		return r
	})
	rows := rapid.SliceOfN(row, 0, 50).Draw(t, "rows")
	SortPairs(rows)
	return rows
}

// What is written is read, with three significant digits of times.
func TestPairsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := anyPairs(t)
		var b bytes.Buffer
		if err := WritePairs(&b, rows); err != nil {
			t.Fatal(err)
		}
		back, err := readPairs(b.Bytes())
		if err != nil || !slices.Equal(back, rounded(rows)) {
			t.Fatalf("%v\n%+v\n%+v", err, back, rounded(rows))
		}
	})
}

func TestThreeDigits(t *testing.T) {
	for ns, want := range map[int64]int64{0: 0, 7: 7, 999: 999, 1000: 1000, 1004: 1000, 1005: 1010, 123_456: 123_000, 999_500: 1_000_000, math.MaxInt64: 9_220_000_000_000_000_000} {
		if got := threeDigits(ns); got != want {
			t.Errorf("%d: %d, want %d", ns, got, want)
		}
	}
}

// What no row says is neither written nor read.
func TestPairsRefuse(t *testing.T) {
	for want, spoil := range map[string]func(*PairsRow){
		`no kind of rows "x"`:    func(r *PairsRow) { r.Kind = "x" },
		"a rank below 0":         func(r *PairsRow) { r.World = -1 },
		"a peer that is none":    func(r *PairsRow) { r.PeerWorld = -2 },
		"sizes that are none":    func(r *PairsRow) { r.FromBytes, r.ToBytes = 8, 7 },
		"a time or number below": func(r *PairsRow) { r.Bytes = -1 },
		"a time of what has":     func(r *PairsRow) { r.Kind, r.LateNS, r.LateErrorNS = PairsPut, 1, 0 },
		"a late time that":       func(r *PairsRow) { r.LateNS = -2 },
	} {
		rows := []PairsRow{{Kind: PairsReceived, FromBytes: -1, ToBytes: -1}, {Kind: PairsReceived, FromBytes: -1, ToBytes: -1}}
		spoil(&rows[1])
		if err := WritePairs(new(bytes.Buffer), rows); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "row 1: ") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for want, spoil := range map[string]func(*PairsRow){
		"no kind of rows": func(r *PairsRow) { r.Kind = "x" }, "a rank below 0": func(r *PairsRow) { r.Rank = -1 }, "a time or number": func(r *PairsRow) { r.Messages = -1 },
		"sizes that are none": func(r *PairsRow) { r.FromBytes, r.ToBytes = 8, 7 }, "a peer that": func(r *PairsRow) { r.PeerWorld = -5 },
	} {
		rows := []PairsRow{{Kind: PairsReceived, FromBytes: -1, ToBytes: -1}}
		spoil(&rows[0])
		var file bytes.Buffer
		if err := writeColumns(&file, "pairs", pairsColumns(), rows); err != nil {
			t.Fatal(err)
		}
		if _, err := readPairs(file.Bytes()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read: %v, want %q", err, want)
		}
	}
	rows := []PairsRow{{Kind: PairsSent, Rank: 1, FromBytes: -1, ToBytes: -1}, {Kind: PairsReceived, FromBytes: -1, ToBytes: -1}}
	if err := WritePairs(new(bytes.Buffer), rows); err == nil || !strings.Contains(err.Error(), "row 1: not in order") {
		t.Errorf("out of order: %v", err)
	}
	good := pairsFile(t, stencil(27, rand.New(rand.NewPCG(1, 2))))
	for n := range good {
		if n%97 == 0 {
			if _, err := readPairs(good[:n]); err == nil {
				t.Errorf("cut to %d of %d bytes: no error", n, len(good))
			}
		}
	}
}

// Whatever a file says, reading takes memory in proportion to it, and what is read can be written.
func FuzzPairs(f *testing.F) {
	good := pairsFile(f, stencil(8, rand.New(rand.NewPCG(1, 2))))
	n := int(binary.LittleEndian.Uint32(good[len(good)-8:]))
	f.Add(good[:len(good)-8-n], good[len(good)-8-n:len(good)-8])
	f.Fuzz(func(t *testing.T, body, footer []byte) {
		file := append(slices.Clone(body), footer...)
		file = append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), "PAR1"...)
		var rows []PairsRow
		var err error
		if took := allocated(func() { rows, err = readPairs(file) }); took > 64<<20+2000*uint64(len(file)) {
			t.Errorf("%d bytes taken for a file of %d", took, len(file))
		}
		if err == nil {
			SortPairs(rows)
			pairsFile(t, rows)
		}
	})
}
