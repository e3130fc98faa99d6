package sums

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

const sent, received = moriensv1.Transfers_KIND_SENT, moriensv1.Transfers_KIND_RECEIVED

func key(t *rapid.T) Key {
	kind := moriensv1.Transfers_Kind(rapid.Int32Range(0, int32(moriensv1.Transfers_KIND_READ)).Draw(t, "kind"))
	if what := rapid.IntRange(0, 5).Draw(t, "what"); what == 0 {
		return Size(kind, rapid.Uint64().Draw(t, "size"))
	} else if what == 1 {
		return End(kind, mpicall.ID(rapid.Uint16().Draw(t, "function")), rapid.Uint32().Draw(t, "path"))
	} else if what < 4 {
		return Peer(kind, rapid.Uint32Range(0, 2).Draw(t, "comm"), rapid.OneOf(rapid.Int32Range(-1, 2), rapid.Int32()).Draw(t, "rank"))
	}
	path := rapid.OneOf(rapid.Uint32Range(0, 3), rapid.Uint32())
	return Site(kind, mpicall.ID(rapid.Uint16().Draw(t, "function")), path.Draw(t, "path"))
}

// A table has what was added, in the rows that it gave, also where it is taken down to its message on the way.
func TestTableAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.Custom(key), 1, 12).Draw(t, "keys")
		var table Table
		want, rows := make(map[Key]Row), make(map[Key]int)
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if rapid.IntRange(0, 20).Draw(t, "restore") == 0 {
				var err error
				if table, err = Restore(table.Message()); err != nil {
					t.Fatal(err)
				}
				clear(rows)
			}
			k, bytes := rapid.SampledFrom(keys).Draw(t, "key"), rapid.Uint64Range(0, 1<<40).Draw(t, "bytes")
			row := table.Row(k)
			if was, known := rows[k]; known && was != row {
				t.Fatalf("row %d of %v was %d", row, k, was)
			}
			rows[k] = row
			ticks := rapid.Uint64Range(0, 1<<40).Draw(t, "ticks")
			w, known := want[k]
			w.Key = k
			if rapid.Bool().Draw(t, "sum") {
				table.Sum(row, 3, bytes, ticks)
				w.add(3, bytes, ticks)
			} else {
				table.Add(row, bytes, ticks)
				if w.add(1, bytes, ticks); !known {
					w.First = ticks
				}
				w.Longest = max(w.Longest, ticks)
			}
			want[k] = w
		}
		got := make(map[Key]Row)
		list, err := Decode(table.Message())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			got[r.Key] = r
		}
		if d := cmp.Diff(want, got); d != "" || len(list) != len(got) {
			t.Fatalf("%d rows (-want +got):\n%s", len(list), d)
		}
	})
}

// A message has all rows, those of one what and kind together and in their order.
func TestRowsOfAMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []Row
		for _, k := range rapid.SliceOfN(rapid.Custom(key), 0, 30).Draw(t, "keys") {
			r := Row{Key: k, Count: rapid.Uint64Range(1, math.MaxUint64).Draw(t, "count"), Bytes: rapid.Uint64().Draw(t, "bytes")}
			if rapid.Bool().Draw(t, "took time") {
				r.Blocked, r.Longest, r.First = rapid.Uint64().Draw(t, "blocked"), rapid.Uint64().Draw(t, "longest"), rapid.Uint64().Draw(t, "first")
			}
			rows = append(rows, r)
		}
		raw, err := proto.Marshal(Encode(rows))
		if err != nil {
			t.Fatal(err)
		}
		x := new(moriensv1.Sums)
		if err := proto.Unmarshal(raw, x); err != nil {
			t.Fatal(err)
		}
		got, err := Decode(x)
		if err != nil {
			t.Fatal(err)
		}
		type run struct {
			What moriensv1.Sums_What
			Kind moriensv1.Transfers_Kind
		}
		first := make(map[run]int)
		for i, r := range rows {
			if of := (run{r.What, r.Kind}); first[of] == 0 {
				first[of] = i + 1
			}
		}
		slices.SortStableFunc(rows, func(a, b Row) int { return first[run{a.What, a.Kind}] - first[run{b.What, b.Kind}] })
		if d := cmp.Diff(rows, got); d != "" && len(rows)+len(got) > 0 {
			t.Fatalf("(-want +got):\n%s", d)
		}
		if len(x.Rows) != len(first) {
			t.Fatalf("%d runs, want %d", len(x.Rows), len(first))
		}
	})
}

func TestSumsStopAtTheLargest(t *testing.T) {
	var table Table
	row := table.Row(Peer(sent, 1, 2))
	table.Add(row, math.MaxUint64-1, math.MaxUint64-1)
	table.Add(row, 2, 3)
	if x := table.Message(); x.Bytes[0] != math.MaxUint64 || x.Blocked[0] != math.MaxUint64 || x.Count[0] != 2 || x.Longest[0] != math.MaxUint64-1 {
		t.Errorf("%v", x)
	}
}

// Of more peers of a kind than there is room for the heaviest stay, by time and then by bytes; the others are added up,
// and come back with nothing. Peers of another kind, and other rows, are as they were.
func TestTooManyPeers(t *testing.T) {
	var table Table
	other, site := table.Row(Peer(received, 1, 1)), table.Row(Site(sent, 1, 1))
	table.Add(other, 1, 1)
	table.Sum(site, 1, 1, 0)
	first := Peer(sent, 1, 0)
	row := table.Row(first)
	for i := range MaxPeers {
		table.Add(table.Row(Peer(sent, 1, int32(i))), uint64(i), uint64(i/2000))
	}
	if table.Folds() != 0 || table.Row(first) != row {
		t.Fatal("rows were given up")
	}
	table.Add(table.Row(Peer(sent, 1, MaxPeers)), 7, 7)
	table.Add(table.Row(first), 5, 9)
	if table.Folds() != 1 {
		t.Errorf("%d folds", table.Folds())
	}
	for range 2 { // also where it is taken down to its message
		rows, err := Decode(table.Message())
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[Key]Row)
		var all Row
		for _, r := range rows {
			got[r.Key] = r
			if r.Kind == sent && r.What != moriensv1.Sums_WHAT_SITE {
				all.add(r.Count, r.Bytes, r.Blocked)
			}
		}
		if len(rows) != Kept+2+3 {
			t.Errorf("%d rows", len(rows))
		}
		for i := range MaxPeers {
			k := Peer(sent, 1, int32(i))
			want := Row{Key: k, Count: 1, Bytes: uint64(i), Blocked: uint64(i / 2000), Longest: uint64(i / 2000), First: uint64(i / 2000)}
			if i == 0 {
				want = Row{Key: k, Count: 1, Bytes: 5, Blocked: 9, Longest: 9, First: 9}
			}
			_, kept := got[k]
			// 96 have 2 ticks, and of those with one the last ones have the most bytes.
			if stays := i >= 4000-(Kept-96) || i == 0; stays != kept || kept && got[k] != want {
				t.Errorf("%d is kept: %v, %+v, want %+v", i, kept, got[k], want)
			}
		}
		gone := uint64(MaxPeers - Kept)
		if r := got[Rest(sent)]; r.Count != gone || r.Longest != 1 || r.First != 0 || got[Rest(received)].Count != 0 || got[Peer(received, 1, 1)].Count != 1 {
			t.Errorf("the rest: %+v", r)
		}
		if all.Count != MaxPeers+2 || all.Bytes != MaxPeers*(MaxPeers-1)/2+12 || all.Blocked != 2000+2*96+16 {
			t.Errorf("in all: %+v", all)
		}
		if table, err = Restore(table.Message()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range MaxPeers - Kept - 2 {
		table.Row(Peer(sent, 2, int32(i)))
	}
	if table.Folds() != 0 {
		t.Error("a restored table has less room")
	}
	if table.Row(Peer(sent, 2, MaxPeers)); table.Folds() != 1 {
		t.Error("a restored table has more room")
	}
}

// What no table has made is an error.
func TestRefuses(t *testing.T) {
	for _, tt := range []struct {
		want   string
		change func(*moriensv1.Sums)
	}{
		{"columns of 1, 2 and 2 runs", func(x *moriensv1.Sums) { x.What = x.What[:1] }},
		{"columns of 2, 1 and 2 runs", func(x *moriensv1.Sums) { x.Kind = x.Kind[:1] }},
		{"columns of 2, 2 and 0 runs", func(x *moriensv1.Sums) { x.Rows = nil }},
		{"columns of 1, 2, 2 and 2 rows", func(x *moriensv1.Sums) { x.A = x.A[:1] }},
		{"columns of 2, 1, 2 and 2 rows", func(x *moriensv1.Sums) { x.B = x.B[:1] }},
		{"columns of 2, 2, 1 and 2 rows", func(x *moriensv1.Sums) { x.Count = x.Count[:1] }},
		{"columns of 2, 2, 2 and 1 rows", func(x *moriensv1.Sums) { x.Bytes = x.Bytes[:1] }},
		{"what 0", func(x *moriensv1.Sums) { x.What[0] = 0 }},
		{"columns of 1, 2 and 2 times, of 2 rows", func(x *moriensv1.Sums) { x.Blocked = x.Blocked[:1] }},
		{"columns of 2, 0 and 2 times, of 2 rows", func(x *moriensv1.Sums) { x.Longest = nil }},
		{"columns of 0, 0 and 2 times, of 2 rows", func(x *moriensv1.Sums) { x.Blocked, x.Longest = nil, nil }},
		{"what 6", func(x *moriensv1.Sums) { x.What[1] = 6 }},
		{"what -1", func(x *moriensv1.Sums) { x.What[1] = -1 }},
		{"runs of 3 rows, of 2", func(x *moriensv1.Sums) { x.Rows[1] = 2 }},
		{"runs of 1 rows, of 2", func(x *moriensv1.Sums) { x.Rows[0] = 0 }},
		{"row 1 counts nothing", func(x *moriensv1.Sums) { x.Count[1] = 0 }},
		{"twice", func(x *moriensv1.Sums) {
			x.What, x.Kind, x.Rows = x.What[1:], x.Kind[1:], []uint32{2}
			x.A[0], x.A[1], x.B[1] = 1, 1, 0
		}},
	} {
		t.Run(tt.want, func(t *testing.T) {
			var table Table
			table.Sum(table.Row(Site(sent, 1, 5)), 1, 9, 0)
			table.Add(table.Row(Peer(received, 1, 3)), 9, 4)
			x := table.Message()
			tt.change(x)
			if _, err := Restore(x); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
