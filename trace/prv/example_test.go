package prv_test

import (
	"fmt"
	"strings"

	"moriens/trace/prv"
)

// A rank computes twice; between, it is in MPI_Barrier.
func ExampleRead() {
	text := `#Paraver (04/03/2026 at 15:06):9000_ns:1(1):1:1(1:1)
1:1:1:1:1:0:5000:1
2:1:1:1:1:5000:50000002:8
2:1:1:1:1:6000:50000002:0
1:1:1:1:1:6000:9000:1
`
	r, err := prv.Read(strings.NewReader(text), prv.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Run.DurationNS, "ns,", len(r.Run.Threads), "thread")
	t := &r.Run.Threads[0]
	for i := range t.Bursts.Len() {
		fmt.Println("burst at", t.Bursts.StartNS[i], "of", t.Bursts.DurationNS[i], "ns")
	}
	for i, path := range t.Calls.Path {
		fmt.Println(r.Run.CallPaths[path].Function, "from", t.Calls.EnterNS[i], "to", t.Calls.ExitNS[i], "ns")
	}
	// Output:
	// 9000 ns, 1 thread
	// burst at 0 of 5000 ns
	// burst at 6000 of 3000 ns
	// MPI_Barrier from 5000 to 6000 ns
}
