package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"moriens/internal/files"
	"moriens/internal/hint"
)

// structureBytes is what structure.json may have: what is larger was not written by moriens.
const structureBytes = 1 << 26

// ReadStructure reads structure.json of a run directory, and refuses what no structure can be.
func ReadStructure(dir string) (*Structure, error) {
	text, err := files.ReadFile(filepath.Join(dir, StructureFile), structureBytes)
	if err != nil {
		return nil, err
	}
	s := new(Structure)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, hint.With(fmt.Errorf("%s: %w", StructureFile, err), AdviseDamage)
	}
	if err := s.check(); err != nil {
		return nil, hint.With(fmt.Errorf("%s: %w", StructureFile, err), AdviseDamage)
	}
	return s, nil
}

// UnmarshalJSON reads a list.
func (c *StructureCount) UnmarshalJSON(text []byte) error {
	var list []int64
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	if len(list) != 5 {
		return fmt.Errorf("an item has %d numbers, not 5", len(list))
	}
	*c = StructureCount{list[0], list[1], list[2], list[3], list[4]}
	return nil
}

// UnmarshalJSON reads a list or an object.
func (i *StructureItem) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return i.StructureCount.UnmarshalJSON(text)
	}
	return json.Unmarshal(text, &i.StructureLoop)
}

func (s *Structure) check() error {
	if s.Format != StructureFormat {
		return fmt.Errorf("it has format %d, this moriens reads %d", s.Format, StructureFormat)
	}
	for i, x := range s.Symbols {
		if x.Before < 0 || x.Before >= len(s.Paths) || x.After < 0 || x.After >= len(s.Paths) {
			return fmt.Errorf("symbol %d has a call path that is not there", i)
		}
	}
	count := func(c StructureCount) error {
		if c.Symbol < 0 || c.Symbol >= int64(len(s.Symbols)) || c.Times < 1 {
			return errors.New("a symbol is not there")
		}
		return nil
	}
	bursts := make([]int64, len(s.Bodies)) // what each has when it is expanded
	for i, b := range s.Bodies {
		for _, item := range b.Items {
			if item.Times > 0 {
				if err := count(item.StructureCount); err != nil {
					return fmt.Errorf("body %d: %w", i, err)
				}
				bursts[i] += item.Times
			}
			for _, t := range item.Turns {
				if t[0] < 0 || t[0] >= int64(i) || t[1] < 1 || t[1] > mostBursts {
					return fmt.Errorf("body %d: a body is not there", i)
				}
				bursts[i] += min(bursts[t[0]], mostBursts/t[1]) * t[1]
			}
			for _, c := range item.Mixed {
				if err := count(c); err != nil {
					return fmt.Errorf("body %d: %w", i, err)
				}
				bursts[i] += c.Times
			}
			if bursts[i] < 0 || bursts[i] > mostBursts {
				return fmt.Errorf("body %d: it has more bursts than can be", i)
			}
		}
	}
	for i, q := range s.Sequences {
		if q.Body < 0 || int(q.Body) >= len(s.Bodies) {
			return fmt.Errorf("sequence %d: its body is not there", i)
		}
		if q.Bursts != bursts[q.Body] {
			return fmt.Errorf("sequence %d: it has %d bursts, its body %d", i, q.Bursts, bursts[q.Body])
		}
	}
	for i, t := range s.Threads {
		if t.Sequence < 0 || int(t.Sequence) >= len(s.Sequences) {
			return fmt.Errorf("thread %d: its sequence is not there", i)
		}
	}
	return nil
}

// mostBursts is more than any thread has.
const mostBursts = 1 << 48

// Each yields the symbols of a body that is expanded, each with how often it comes in a row. What was summed up comes
// in the order of the file.
func (s *Structure) Each(body int32) iter.Seq2[int64, int64] {
	return func(yield func(symbol, times int64) bool) {
		s.each(body, func(c StructureCount) bool { return yield(c.Symbol, c.Times) })
	}
}

// Timed yields the same with the times of the bursts.
func (s *Structure) Timed(body int32) iter.Seq[StructureCount] {
	return func(yield func(StructureCount) bool) { s.each(body, yield) }
}

// First is the symbol with which a body begins; -1: which it is is not known.
func (s *Structure) First(body int32) int64 {
	for len(s.Bodies[body].Items) > 0 {
		item := &s.Bodies[body].Items[0]
		switch {
		case item.Times > 0:
			return item.Symbol
		case len(item.Turns) > 0 && !item.Unordered && len(item.Mixed) == 0:
			body = int32(item.Turns[0][0])
		case len(item.Turns) == 0 && len(item.Mixed) == 1:
			return item.Mixed[0].Symbol
		default:
			return -1
		}
	}
	return -1
}

func (s *Structure) each(body int32, yield func(StructureCount) bool) bool {
	for _, item := range s.Bodies[body].Items {
		if item.Times > 0 && !yield(item.StructureCount) {
			return false
		}
		for _, t := range item.Turns {
			for range t[1] {
				if !s.each(int32(t[0]), yield) {
					return false
				}
			}
		}
		for _, c := range item.Mixed {
			if !yield(c) {
				return false
			}
		}
	}
	return true
}
