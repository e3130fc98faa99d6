package period

// A reference is the thread whose phases are taken for the run's.
type reference struct {
	sequence  int
	explained float64 // of the run by its sections, 0 to 1: the mean of their shares of time and of bursts, each times the share of the threads that agree
	share     float64 // of the time of all threads with iterations: of those that have iterations where this one has
}

// agree chooses the sequence whose iterations most others have too, weighted by time. Threads agree on an iteration that begins at an anchor
// if they have one that begins there, else on a section if they have one of as many iterations.
func (f *finder) agree(threads []Thread, list []*sequence) reference {
	times := make([]int64, f.anchors+3)
	total := &times[0]            // the time of the threads that have iterations
	begins := times[1:]           // by anchor, from -1: of those that have one begin there
	counts := make(map[int]int64) // by iterations of a section: the time of the threads that have one
	for _, s := range list {
		if len(s.sections) == 0 || !f.Mine(s.threads[0]) {
			continue
		}
		*total += s.timeNS
		seen := make(map[int]bool)
		for i := range s.sections {
			for _, a := range s.sections[i].anchors {
				begins[a+1] += s.timeNS
			}
			if n := s.sections[i].iterations(); !seen[n] {
				seen[n] = true
				counts[n] += s.timeNS
			}
		}
	}
	f.addUp(times, counts)
	// Of each sequence, how much of the run is covered by its sections, and that times the share of the threads that agree.
	shares := make([][2]float64, len(list))
	for i, s := range list {
		if !f.Mine(s.threads[0]) {
			continue
		}
		t := &threads[s.threads[0]]
		covered, agreed := 0., 0.
		for k := range s.sections {
			x := &s.sections[k]
			share := float64(counts[x.iterations()])
			if x.anchors != nil {
				share = 0
				for _, a := range x.anchors {
					share += float64(begins[a+1])
				}
				share /= float64(len(x.anchors))
			}
			share /= float64(max(*total, 1))
			part := float64(t.timeAt(x.to)-t.timeAt(x.from))/f.durationNS/2 + float64(x.to-x.from)/float64(f.bursts)/2
			agreed += share * part
			covered += part
		}
		shares[i] = [2]float64{covered, agreed}
	}
	f.shareShares(list, shares)
	best := reference{sequence: -1}
	for i, x := range shares {
		covered, agreed := x[0], x[1]
		if covered == 0 {
			continue
		}
		// What is found on no other thread counts next to nothing, however long it takes.
		if agreed > best.explained {
			best = reference{i, agreed, agreed / covered}
		}
	}
	return best
}
