package measure

import (
	"crypto/tls"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"moriens/cshim/ringwriter"
	"moriens/internal/testenv"
)

// crowd opens connections to the collector that never show a token, one after the other: bare ones, some that have
// shaken hands, some that talk nonsense. It leaves them open.
func crowd(t *testing.T, address string, connections int) {
	t.Helper()
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := worker; i < connections; i += 4 {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				t.Cleanup(func() { conn.Close() })
				switch i % 8 {
				case 0: // the collector may close it at any point
					secured := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
					secured.SetDeadline(time.Now().Add(10 * time.Second))
					if secured.Handshake() == nil {
						secured.SetDeadline(time.Time{})
					}
				case 1:
					conn.Write([]byte(strings.Repeat("GET / HTTP/1.0\r\n", 10)))
				}
			}
		})
	}
	all.Wait()
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// Thousands of connections that show no token cost a bounded amount of memory and descriptors, and an agent that
// connects and works among them loses nothing.
func TestHalfOpenConnections(t *testing.T) {
	connections := 6000
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	if most := int(min(files.Cur, 1<<20)) / 3; most < connections { // both ends are ours
		t.Logf("%d connections: no more descriptors", most)
		connections = most
	}
	const bounded = 1100 // collector/admission accepts 1,024 strangers, and a few are just being closed
	if connections < 2*bounded {
		testenv.Lacking(t, fmt.Sprintf("%d descriptors are too few: it needs %d", files.Cur, 6*bounded))
	}
	c := startCollector(t, "127.0.0.1:0")
	before := heap()
	crowd(t, c.Rendezvous().Address, connections/2)

	// The agent connects when there is a crowd already, and works while there is another.
	r := newNode(t, c, nil)
	p := r.process(ringwriter.Identity{Rank: 0, Size: 1})
	w := r.thread(p, 1<<14)
	barrier := named(t, "MPI_Barrier")
	crowded := make(chan struct{})
	go func() {
		defer close(crowded)
		crowd(t, r.collector.Rendezvous().Address, connections/2)
	}()
	const calls = 4000
	for i := range uint64(calls) {
		r.call(w, barrier, 0, 1000+i*100_000, 1000+i*100_000+50_000)
		if i%100 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	<-crowded
	if grown := int64(heap()) - int64(before); grown > 256<<20 {
		t.Errorf("%d connections cost %d MiB", connections, grown>>20)
	}
	refused := r.collector.Page().Refused
	for deadline := time.Now().Add(patience); refused["crowd"]+refused["handshake"]+refused["silent"] < uint64(connections-bounded); refused = r.collector.Page().Refused {
		if time.Now().After(deadline) { // the kernel has accepted them before the collector does
			t.Fatalf("refused %v of %d", refused, connections)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("refused %v; the heap grew by %d MiB with both ends of %d connections", refused, (int64(heap())-int64(before))>>20, connections)
	p.Finalize()
	p.Exit()
	result := r.finish(byDuration)
	if got := result.Run.Threads[0].Calls.Len(); got != calls || result.Manifest.Losses.RecordsDropped != 0 {
		t.Errorf("%d calls, %d dropped", got, result.Manifest.Losses.RecordsDropped)
	}
}
