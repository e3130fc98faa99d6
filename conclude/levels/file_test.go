package levels

import "encoding/json"

// A structureFile is what a reader of structure.json needs to know the bursts of each thread: docs/format/structure.md.
type structureFile struct {
	Symbols []struct {
		Cluster *int32 `json:"cluster"`
	} `json:"symbols"`
	Bodies []struct {
		Items []json.RawMessage `json:"items"`
	} `json:"bodies"`
	Sequences []struct {
		Body   int64      `json:"body"`
		Counts [][2]int64 `json:"counts"`
	} `json:"sequences"`
	Threads []struct {
		Sequence int `json:"sequence"`
	} `json:"threads"`
}

func parseStructure(t fataler, text []byte) *structureFile {
	s := new(structureFile)
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// clusters counts the bursts of a sequence.
func (s *structureFile) clusters(t fataler, sequence int) map[int32]float64 {
	n := make(map[int32]float64)
	add := func(symbol, times int64) {
		if c := s.Symbols[symbol].Cluster; c != nil {
			n[*c] += float64(times)
		}
	}
	q := s.Sequences[sequence]
	if len(q.Counts) > 0 {
		for _, c := range q.Counts {
			add(c[0], c[1])
		}
		return n
	}
	var body func(i, times int64)
	body = func(i, times int64) {
		for _, text := range s.Bodies[i].Items {
			var of struct {
				Turns [][2]int64 `json:"turns"`
				Mixed [][5]int64 `json:"mixed"`
			}
			if text[0] == '[' { // of one symbol
				of.Mixed = make([][5]int64, 1)
				if err := json.Unmarshal(text, &of.Mixed[0]); err != nil {
					t.Fatal(err)
				}
			} else if err := json.Unmarshal(text, &of); err != nil {
				t.Fatal(err)
			}
			for _, turn := range of.Turns {
				body(turn[0], times*turn[1])
			}
			for _, c := range of.Mixed {
				add(c[0], times*c[1])
			}
		}
	}
	body(q.Body, 1)
	return n
}
