// Command ingest measures how many bursts a collector takes, and prints a table in Markdown:
//
//	make bench-ingest
//
// The collector is a separate process, as in a batch job: over TLS, with its journal, clustering while bursts arrive.
// The streams of 1, 100 and 1,000 nodes come from this process. Bursts a second are per second of the collector's
// processor time, so that they do not depend on what this process takes of the same cores. Latency is from the sending
// of a message of 1,024 bursts to its acknowledgement, once as fast as the collector takes them and once at a moderate
// rate.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"moriens/bench/timing"
	"moriens/internal/rendezvous"
)

func main() {
	bursts := flag.Int("bursts", 20_000_000, "bursts of a measurement, at full speed")
	pace := flag.Int("pace", 200_000, "bursts a second, at a steady pace")
	seconds := flag.Int("seconds", 10, "for how long, at a steady pace")
	streams := flag.String("streams", "1,100,1000", "numbers of nodes")
	bin := flag.String("bin", "bin", "directory with moriens")
	flag.Parse()
	if err := run(os.Stdout, *bin, *streams, *bursts, *pace, *seconds); err != nil {
		fmt.Fprintln(os.Stderr, "ingest:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, bin, streamList string, bursts, pace, seconds int) error {
	nodes, err := timing.Numbers("-streams", streamList)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "| nodes | pace | bursts | bursts/s per core | bursts/s | wire, B/burst | resident, B/burst | acknowledged after, ms: median | 99 % |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|")
	for _, n := range nodes {
		if err := measure(out, bin, n, bursts, 0, "full"); err != nil {
			return err
		}
		if err := measure(out, bin, n, pace*seconds, pace, "steady"); err != nil {
			return err
		}
	}
	bytes, err := held(1000)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nA burst with its call and two counters takes %.1f bytes of the collector's memory.\n", bytes)
	return err
}

// measure starts a collector, sends it bursts and prints a row. A pace of 0 is as fast as it goes.
func measure(out io.Writer, bin string, nodes, bursts, pace int, name string) error {
	work, err := os.MkdirTemp("", "moriens-ingest-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	dir := filepath.Join(work, "run")
	cmd := exec.Command(filepath.Join(bin, "moriens"), "collect", "--out", dir, "--dims", "PAPI_TOT_INS:log,IPC")
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		cmd.Process.Kill() // its analysis is not what is measured
		cmd.Wait()
	}()
	meet, err := rendezvous.Wait(dir, 2*time.Minute, nil)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, said.String())
	}
	before, err := timing.UsageOf(cmd.Process.Pid)
	if err != nil {
		return err
	}
	l, err := newLoader(meet, nodes, bursts, pace)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := l.send(); err != nil {
		return fmt.Errorf("%w\n%s", err, said.String())
	}
	took := time.Since(start).Seconds()
	after, err := timing.UsageOf(cmd.Process.Pid)
	if err != nil {
		return err
	}
	latencies := l.latencies()
	_, median, _ := timing.Quartiles(latencies)
	sent := float64(l.bursts())
	_, err = fmt.Fprintf(out, "| %d | %s | %.0f | %s | %s | %.1f | %.0f | %.1f | %.1f |\n", nodes, name, sent,
		millions(sent/(after.CPU-before.CPU)), millions(sent/took), float64(l.wire.Load())/sent, (after.Resident-before.Resident)/sent,
		median, percentile(latencies, .99))
	return err
}

func millions(x float64) string { return fmt.Sprintf("%.2f M", x/1e6) }

// percentile returns the value below which a share p of the list lies.
func percentile(list []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[int(math.Ceil(p*float64(len(sorted))))-1]
}
