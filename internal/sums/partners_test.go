package sums

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

// The first partners of a place have rows, the others one: with all that was added, in their order, also where they
// are taken down to their message on the way.
func TestPartnersAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		peers := rapid.SampledFrom([]int32{1, 3, manyRows, PlacePartners, PlacePartners + 9}).Draw(t, "peers")
		p := new(Partners)
		var order []Partner // as first added, by place
		at := make(map[Partner]int)
		rows := make(map[place]int)
		want := make(map[Partner]Moved)
		for range rapid.IntRange(0, 400).Draw(t, "messages") {
			if rapid.IntRange(0, 40).Draw(t, "restore") == 0 {
				list, err := DecodePartners(EncodePartners(p.Rows()))
				if err == nil {
					p, err = RestorePartners(list)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			k := Partner{
				Kind: rapid.SampledFrom([]moriensv1.Transfers_Kind{sent, received}).Draw(t, "kind"), Function: mpicall.Send,
				Path: rapid.Uint32Range(0, 1).Draw(t, "path"), Comm: rapid.Uint32Range(0, 1).Draw(t, "comm"), Peer: rapid.Int32Range(-1, peers).Draw(t, "peer"),
			}
			bytes := rapid.Uint64Range(0, 1<<40).Draw(t, "bytes")
			p.Place(k.Kind, k.Function, k.Path).Add(k.Comm, k.Peer, bytes)
			if _, known := at[k]; !known {
				if rows[k.place()] < PlacePartners {
					rows[k.place()]++
					at[k] = len(order)
					order = append(order, k)
				} else {
					k.Comm, k.Peer = 0, OtherPartners
				}
			}
			m := want[k]
			if m.Count == 0 {
				m.Least = bytes
			}
			want[k] = Moved{m.Count + 1, m.Bytes + bytes, min(m.Least, bytes), max(m.Most, bytes)}
		}
		got := make(map[Partner]Moved)
		last := make(map[place]int)
		for _, r := range p.Rows() {
			k := r
			k.Moved = Moved{}
			got[k] = r.Moved
			if r.Others() {
				last[r.place()] = len(order)
				continue
			}
			if n := at[k]; n < last[r.place()] {
				t.Fatalf("%+v is not in its order", r)
			}
			last[r.place()] = at[k]
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
	})
}

// All places of a process have a bound too: what is beyond is counted in the row of others.
func TestAllPartners(t *testing.T) {
	p := new(Partners)
	for path := range uint32(AllPartners) {
		for peer := range int32(3) {
			p.Place(sent, mpicall.Send, path).Add(1, peer, 8)
		}
	}
	rows, others := 0, uint64(0)
	for _, r := range p.Rows() {
		if r.Others() {
			others += r.Count
		} else {
			rows++
		}
	}
	if rows != AllPartners || others != 2*AllPartners {
		t.Errorf("%d rows, %d messages of others", rows, others)
	}
}

// What no Partners have made is an error.
func TestRefusesPartners(t *testing.T) {
	for want, change := range map[string]func(*moriensv1.Partners){
		"columns of 1, 2, 2 and 2 places": func(m *moriensv1.Partners) { m.Kind = m.Kind[:1] },
		"columns of 3 and 2 partners":     func(m *moriensv1.Partners) { m.Least = m.Least[:2] },
		"has 0 rows of 3":                 func(m *moriensv1.Partners) { m.Rows[0] = 0 },
		"has 9 rows of 3":                 func(m *moriensv1.Partners) { m.Rows[1] = 9 },
		"places of 2 partners, of 3":      func(m *moriensv1.Partners) { m.Rows[0] = 1 },
		"of function 65536":               func(m *moriensv1.Partners) { m.Function[0] = 1 << 16 },
		"partners of kind 3":              func(m *moriensv1.Partners) { m.Kind[0] = moriensv1.Transfers_KIND_PUT },
		"0 messages of 9 bytes":           func(m *moriensv1.Partners) { m.Count[0] = 0 },
		"1 messages of 8 bytes, of 9":     func(m *moriensv1.Partners) { m.Bytes[0] = 8 },
		"of 9 to 8 each":                  func(m *moriensv1.Partners) { m.More[0]-- },
		"others in communicator 1":        func(m *moriensv1.Partners) { m.Peer[0] = OtherPartners },
		"partner 5 of communicator 1 twice": func(m *moriensv1.Partners) {
			m.Peer[1] = 0
		},
	} {
		p := new(Partners)
		p.Place(sent, 1, 2).Add(1, 5, 9)
		p.Place(sent, 1, 2).Add(1, 6, 4)
		p.Place(received, 1, 2).Add(1, 5, 4)
		m := EncodePartners(p.Rows())
		change(m)
		rows, err := DecodePartners(m)
		if err == nil {
			_, err = RestorePartners(rows)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
