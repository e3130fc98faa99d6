package window_test

import (
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/internal/anchor"
	moriensv1 "moriens/proto/moriens/v1"
)

// onlyTransfers leaves out what flatten says of other messages.
func onlyTransfers(messages []*moriensv1.ReportRequest, to map[flat]int) {
	for _, m := range messages {
		if m.GetTransfers() != nil {
			flatten([]*moriensv1.ReportRequest{m}, to)
		}
	}
}

// Transfers are reported where their window is one by which clocks are compared, and only kept otherwise, whether they
// arrive with their calls or later, whatever was asked before; a fetch of transfers returns all of them, once.
func TestPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, err := os.MkdirTemp("", "moriens-part-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(base)
		dir := filepath.Join(base, "windows")
		s := open(t, dir, 0)
		defer func() { s.Close() }()
		j := &job{ranks: 2}
		transaction := uint64(1)
		introduced := j.introduce()
		wanted := [2]map[flat]int{make(map[flat]int), make(map[flat]int)} // local, reported
		got := [2]map[flat]int{make(map[flat]int), make(map[flat]int)}
		all := make(map[flat]int)
		const sends = 3
		var late []*moriensv1.ReportRequest
		for range rapid.IntRange(1, 6).Draw(t, "commits") {
			messages := append(introduced, j.iterate(rapid.IntRange(1, 60).Draw(t, "iterations"), sends, -1)...)
			introduced = nil
			onlyTransfers(messages, all)
			next := append(late[:len(late):len(late)], messages...)
			late = nil
			if rapid.Bool().Draw(t, "late") {
				kept := next[:0:0]
				for _, m := range next {
					if m.GetTransfers() != nil {
						late = append(late, m)
					} else {
						kept = append(kept, m)
					}
				}
				next = kept
			}
			reported, local := s.Part(next)
			if rapid.Bool().Draw(t, "again") { // the disk was full, say
				reported, local = s.Part(next)
			}
			onlyTransfers(reported, got[1])
			onlyTransfers(local, got[0])
			transaction++
			if err := s.Append(transaction, next); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "restart") {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, dir, 0)
			}
		}
		reported, local := s.Part(late)
		onlyTransfers(reported, got[1])
		onlyTransfers(local, got[0])
		if err := s.Append(transaction+1, late); err != nil {
			t.Fatal(err)
		}
		for x, n := range all {
			compared := 0
			if anchor.After(x.row / (sends + 1)).Compared(run) {
				compared = 1
			}
			wanted[compared][x] = n
		}
		for i, name := range []string{"kept", "reported"} {
			if d := gocmp.Diff(wanted[i], got[i], gocmp.AllowUnexported(flat{})); d != "" {
				t.Fatalf("%s (-want +got):\n%s", name, d)
			}
		}
		fetched := make(map[flat]int)
		parts := uint64(0)
		end := s.Fetch(&moriensv1.Fetch{Number: 7, Transfers: true}, func(p *moriensv1.WindowPart) error {
			parts++
			if p.Number != 7 {
				t.Fatalf("an answer to %d", p.Number)
			}
			flatten(p.Messages, fetched)
			return nil
		})
		if end.Error != "" || end.Parts != parts {
			t.Fatalf("%d parts arrived: %v", parts, end)
		}
		if d := gocmp.Diff(all, fetched, gocmp.AllowUnexported(flat{})); d != "" {
			t.Fatalf("fetched (-want +got):\n%s", d)
		}
	})
}
