package period

// A reference is the thread whose phases are taken for the run's.
type reference struct {
	sequence  int
	explained float64 // of the run by its sections, 0 to 1: the mean of their shares of time and of bursts, each times the share of the threads that can be determined by it
	share     float64 // of the time of all threads with iterations: of those that have iterations where this one has
}

// agree chooses the sequence whose iterations most others have too, weighted by time. Threads agree on an iteration
// that begins at an anchor if they have one that begins there, else on a section if they have one of as many
// iterations, or between the same calls. Threads that have no iterations of their own are cut at anchors all the same;
// where there are none nothing is reported about them, and they count as such that do not agree.
func (f *finder) agree(threads []Thread, list []*sequence) reference {
	times := make([]int64, f.anchors+4)
	all, total := &times[0], &times[1] // the time of all threads, and of those that have iterations
	begins := times[2:]                // by anchor, from -1: of those that have one begin there
	counts := make(map[int]int64)      // by what sections are matched by: the time of the threads that have one
	for _, s := range list {
		if !f.Mine(s.threads[0]) {
			continue
		}
		*all += s.timeNS
		if len(s.sections) == 0 {
			continue
		}
		*total += s.timeNS
		seen := make(map[int]bool)
		for i := range s.sections {
			for _, a := range s.sections[i].anchors {
				begins[a+1] += s.timeNS
			}
			if n := s.sections[i].matchedBy(); !seen[n] {
				seen[n] = true
				counts[n] += s.timeNS
			}
		}
	}
	f.addUp(times, counts)
	// Of each sequence, how much of the run is covered by its sections, that times the share of the threads that agree, of
	// such with iterations, and what is explained.
	shares := make([][3]float64, len(list))
	for i, s := range list {
		if !f.Mine(s.threads[0]) {
			continue
		}
		t := &threads[s.threads[0]]
		covered, agreed, explained := 0., 0., 0.
		for k := range s.sections {
			x := &s.sections[k]
			share, of := float64(counts[x.matchedBy()]), *all
			if x.anchors != nil {
				share = 0
				for _, a := range x.anchors {
					share += float64(begins[a+1])
				}
				share, of = share/float64(len(x.anchors)), *total
			}
			part := float64(t.timeAt(x.to)-t.timeAt(x.from))/f.durationNS/2 + float64(x.to-x.from)/float64(f.bursts)/2
			agreed += share / float64(max(*total, 1)) * part
			explained += share / float64(max(of, 1)) * part
			covered += part
		}
		shares[i] = [3]float64{covered, agreed, explained}
	}
	f.shareShares(list, shares)
	best := reference{sequence: -1}
	for i, x := range shares {
		covered, agreed, explained := x[0], x[1], x[2]
		if covered == 0 {
			continue
		}
		// What is found on no other thread counts next to nothing, however long it takes.
		if explained > best.explained {
			best = reference{i, explained, agreed / covered}
		}
	}
	return best
}

// matchedBy is a number that shows which sections of other threads are the same, where there are no anchors.
func (s *section) matchedBy() int {
	if s.byCalls {
		return -s.delimiter
	}
	return s.iterations()
}
