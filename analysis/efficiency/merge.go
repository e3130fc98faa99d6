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
	labelled := s.Clusters
	if s.Kinds != nil {
		labelled = append(slices.Clip(labelled), s.Kinds)
	}
	all, err := team.Gather(t, s.words(t, labelled))
	if err != nil {
		return err
	}
	if err := s.take(t, labelled, all); err != nil {
		return err
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

// locations is how many there are.
func (s *Sums) locations(labelled [][][]ClusterSum) int {
	for _, sums := range s.Regions {
		return len(sums)
	}
	for _, lists := range labelled {
		return len(lists)
	}
	return 0
}

// words are what this member has of its own locations, one after the other: each sum of a region, and each list of
// clusters behind its length.
func (s *Sums) words(t team.Threads, labelled [][][]ClusterSum) []int64 {
	var own []int
	room := 0
	for i := range s.locations(labelled) {
		if !t.Mine(i) {
			continue
		}
		own = append(own, i)
		room += len(s.Regions) * wordsOfSum
		for _, lists := range labelled {
			room += 1 + len(lists[i])*wordsOfCluster
		}
	}
	words := make([]int64, 0, room)
	for _, i := range own {
		for _, sums := range s.Regions {
			words = sums[i].words(words)
		}
		for _, lists := range labelled {
			words = append(words, int64(len(lists[i])))
			for k := range lists[i] {
				words = lists[i][k].words(words)
			}
		}
	}
	return words
}

// take sets the sums of all locations from the words of all members.
func (s *Sums) take(t team.Threads, labelled [][][]ClusterSum, all [][]int64) error {
	room := 0
	for _, words := range all {
		room += len(words) / wordsOfCluster
	}
	free := make([]ClusterSum, room) // for all lists: what is not of a cluster takes words too
	for i := range s.locations(labelled) {
		owner := t.Owner(i)
		words := all[owner]
		missing := func() error { return fmt.Errorf("member %d has not sent what it has of location %d", owner, i) }
		for _, sums := range s.Regions {
			if len(words) < wordsOfSum {
				return missing()
			}
			words = sums[i].take(words)
		}
		for _, lists := range labelled {
			if len(words) == 0 || words[0] < 0 || words[0] > int64(len(words)-1)/wordsOfCluster {
				return missing()
			}
			n := int(words[0])
			words = words[1:]
			lists[i], free = free[:n:n], free[n:]
			for k := range lists[i] {
				lists[i][k].Location = int32(i)
				words = lists[i][k].take(words)
			}
		}
		all[owner] = words
	}
	return nil
}

// How many words of a message sums are.
const (
	wordsOfCounted = 6
	wordsOfSum     = 4 + wordsOfCounted
	wordsOfCluster = 3 + wordsOfCounted
)

func (c *Counted) words(to []int64) []int64 {
	return append(to, c.Instructions, c.InstructionsNS, c.Cycles, c.CyclesNS, c.BothInstructions, c.BothCycles)
}

// take returns what follows.
func (c *Counted) take(words []int64) []int64 {
	w := words[:wordsOfCounted]
	*c = Counted{Instructions: w[0], InstructionsNS: w[1], Cycles: w[2], CyclesNS: w[3], BothInstructions: w[4], BothCycles: w[5]}
	return words[wordsOfCounted:]
}

func (s *Sum) words(to []int64) []int64 {
	return s.Counted.words(append(to, s.ElapsedNS, s.LifeNS, s.ComputingNS, s.MPINS))
}

func (s *Sum) take(words []int64) []int64 {
	s.ElapsedNS, s.LifeNS, s.ComputingNS, s.MPINS = words[0], words[1], words[2], words[3]
	return s.Counted.take(words[4:])
}

func (c *ClusterSum) words(to []int64) []int64 {
	return c.Counted.words(append(to, int64(c.Cluster), c.Bursts, c.TimeNS))
}

func (c *ClusterSum) take(words []int64) []int64 {
	c.Cluster, c.Bursts, c.TimeNS = int32(words[0]), words[1], words[2]
	return c.Counted.take(words[3:])
}
