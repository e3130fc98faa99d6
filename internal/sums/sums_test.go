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
	if rapid.Bool().Draw(t, "peer") {
		return Peer(kind, rapid.Uint32Range(0, 2).Draw(t, "comm"), rapid.OneOf(rapid.Int32Range(-1, 2), rapid.Int32()).Draw(t, "rank"))
	}
	path := rapid.OneOf(rapid.Uint32Range(0, 3), rapid.Uint32())
	return Site(kind, mpicall.ID(rapid.Uint16().Draw(t, "function")), path.Draw(t, "path"))
}

// A table has what was added, in the rows that it gave, also where it is taken down to its message on the way.
func TestTableAddsUp(t *testing.T) {
	type moved struct{ Count, Bytes uint64 }
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.Custom(key), 1, 12).Draw(t, "keys")
		var table Table
		want, rows := make(map[Key]moved), make(map[Key]int)
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
			table.Add(row, bytes)
			want[k] = moved{want[k].Count + 1, want[k].Bytes + bytes}
		}
		got := make(map[Key]moved)
		list, err := Decode(table.Message())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			got[r.Key] = moved{r.Count, r.Bytes}
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
			rows = append(rows, Row{k, rapid.Uint64Range(1, math.MaxUint64).Draw(t, "count"), rapid.Uint64().Draw(t, "bytes")})
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

func TestBytesStopAtTheLargest(t *testing.T) {
	var table Table
	row := table.Row(Peer(sent, 1, 2))
	table.Add(row, math.MaxUint64-1)
	table.Add(row, 2)
	if x := table.Message(); x.Bytes[0] != math.MaxUint64 || x.Count[0] != 2 {
		t.Errorf("%v", x)
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
		{"what 3", func(x *moriensv1.Sums) { x.What[1] = 3 }},
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
			table.Add(table.Row(Site(sent, 1, 5)), 9)
			table.Add(table.Row(Peer(received, 1, 3)), 9)
			x := table.Message()
			tt.change(x)
			if _, err := Restore(x); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
