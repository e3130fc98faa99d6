package program

// PlantedInput is FOR { Send; Recv; FOR 3, 4, 5 in turn { Allreduce }; IF i % 10 == 0 { Barrier } } of some ranks; not
// alike, the condition is one by a hash.
func PlantedInput(ranks, calls int, alike bool) *Input {
	main := straight([]Loop{{Parent: -1}, {Parent: 0}}, []int{-1, 0, 1, 0, -1}, []uint64{1, 2, 3, 4, 5})
	halo := straight(nil, []int{-1, -1}, []uint64{1, 2})
	in := &Input{Worlds: []int{ranks}, Workers: 2}
	in.Functions = []Function{{Name: "main", Code: main}, {Name: "halo", Code: halo}}
	m := func(o uint64) Step { return Step{Function: 0, Offset: o, Line: int(o)} }
	h := func(o uint64) Step { return Step{Function: 1, Offset: o, Line: int(o)} }
	in.Paths = []Path{
		{}, {MPI: "MPI_Init", Steps: []Step{m(1)}, Whole: true}, {MPI: "MPI_Send", Steps: []Step{m(2), h(1)}, Whole: true}, {MPI: "MPI_Recv", Steps: []Step{m(2), h(2)}, Whole: true},
		{MPI: "MPI_Allreduce", Steps: []Step{m(3)}, Whole: true}, {MPI: "MPI_Barrier", Steps: []Step{m(4)}, Whole: true}, {MPI: "MPI_Finalize", Steps: []Step{m(5)}, Whole: true},
	}
	for r := range ranks {
		list := []uint32{1}
		hash := uint32(r) * 2654435761
		for i := 0; len(list) < calls; i++ {
			list = append(list, 2, 3)
			for range 3 + i%3 {
				list = append(list, 4)
			}
			hash = hash*1664525 + 1013904223
			if alike && i%10 == 0 || !alike && hash>>28 == 0 {
				list = append(list, 5)
			}
		}
		list = append(list, 6)
		t := Thread{Rank: r, Calls: Calls{Path: list}}
		for k := range list {
			t.Calls.EnterNS, t.Calls.ExitNS = append(t.Calls.EnterNS, int64(k)*1000), append(t.Calls.ExitNS, int64(k)*1000+200)
			if k > 0 {
				t.Bursts.Before, t.Bursts.After = append(t.Bursts.Before, list[k-1]), append(t.Bursts.After, list[k])
				t.Bursts.DurationNS, t.Bursts.Cluster = append(t.Bursts.DurationNS, 800), append(t.Bursts.Cluster, int32(list[k]))
			}
		}
		in.Threads = append(in.Threads, t)
	}
	return in
}

// Calls counts those of all threads.
func (in *Input) Calls() (n int) {
	for i := range in.Threads {
		n += len(in.Threads[i].Calls.Path)
	}
	return n
}
