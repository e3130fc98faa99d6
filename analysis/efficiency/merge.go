package efficiency

import (
	"errors"
	"fmt"
	"slices"

	"moriens/internal/team"
)

// Merge is collective: it makes the sums of all members known to each. It changes s.
func (s *Sums) Merge(t team.Threads) error {
	if t.Size() == 1 {
		return nil
	}
	if err := s.merge(t); err != nil {
		return fmt.Errorf("efficiency: %w", err)
	}
	return nil
}

func (s *Sums) merge(t team.Threads) error {
	for _, sums := range s.Regions {
		words := make([][]int64, len(sums))
		for i := range sums {
			words[i] = values(sums[i].fields())
		}
		words, err := team.ByThread(t, words)
		if err != nil {
			return err
		}
		for i := range sums {
			set(sums[i].fields(), words[i])
		}
	}
	labelled := s.Clusters
	if s.Kinds != nil {
		labelled = append(slices.Clip(labelled), s.Kinds)
	}
	for _, lists := range labelled {
		words := make([][]int64, len(lists))
		for i, list := range lists {
			for k := range list {
				words[i] = append(append(words[i], int64(list[k].Cluster)), values(list[k].fields())...)
			}
		}
		words, err := team.ByThread(t, words)
		if err != nil {
			return err
		}
		for i, rest := range words {
			lists[i] = nil
			for len(rest) > 0 {
				c := ClusterSum{Location: int32(i), Cluster: int32(rest[0])}
				rest = set(c.fields(), rest[1:])
				lists[i] = append(lists[i], c)
			}
		}
	}
	for k := range s.Loops {
		l := &s.Loops[k]
		locations := []int64{l.Locations}
		err := errors.Join(t.AllReduce(locations, team.Sum), t.AllReduce(l.ComputingNS, team.Sum), t.AllReduce(l.LongestNS, team.Max), t.AllReduce(l.LatestNS, team.Max))
		if err != nil {
			return err
		}
		l.Locations = locations[0]
	}
	return nil
}

func (c *Counted) fields() []*int64 {
	return []*int64{&c.Instructions, &c.InstructionsNS, &c.Cycles, &c.CyclesNS, &c.BothInstructions, &c.BothCycles}
}

func (s *Sum) fields() []*int64 {
	return append([]*int64{&s.ElapsedNS, &s.LifeNS, &s.ComputingNS, &s.MPINS}, s.Counted.fields()...)
}

func (c *ClusterSum) fields() []*int64 {
	return append([]*int64{&c.Bursts, &c.TimeNS}, c.Counted.fields()...)
}

func values(fields []*int64) []int64 {
	list := make([]int64, len(fields))
	for i, f := range fields {
		list[i] = *f
	}
	return list
}

// set takes as many words as there are fields, and returns the rest.
func set(fields []*int64, words []int64) []int64 {
	for i, f := range fields {
		*f = words[i]
	}
	return words[len(fields):]
}
