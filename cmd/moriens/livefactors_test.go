package main_test

import (
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"moriens/collector/health"
	"moriens/internal/mpitest"
)

// The efficiency of a real job while it runs: no figure is known beforehand, but what must hold of all of them does,
// and status, the page and the metrics have them.
func TestEfficiencyOfARunningJob(t *testing.T) {
	t.Parallel()
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, options := range [][]string{nil, {"--cells"}} {
			run, output, out, over := startRun(t, mpi, append([]string{"--http", "127.0.0.1:0"}, options...), nil)
			p := pageNow(t, out, func(p *health.Page) bool {
				return p.Efficiency != nil && p.Efficiency.Minute.ParallelEfficiency != nil && *p.Efficiency.Run.Seconds > 1 && len(p.Efficiency.Bins) > 0
			})
			for _, f := range []*health.Factors{&p.Efficiency.Run, &p.Efficiency.Minute} {
				for name, x := range map[string]*float64{
					"parallel efficiency": f.ParallelEfficiency, "load balance": f.LoadBalance, "in nodes": f.LoadBalanceInNodes, "between nodes": f.LoadBalanceBetweenNodes,
					"communication": f.CommunicationEfficiency,
				} {
					if x == nil || *x < 0 || *x > 1 {
						t.Fatalf("%v: %s is out of range in %+v", options, name, f)
					}
				}
				if d := *f.LoadBalance**f.CommunicationEfficiency - *f.ParallelEfficiency; math.Abs(d) > 1e-9 {
					t.Errorf("%v: load balance · communication is %g more than the parallel efficiency", options, d)
				}
				if d := *f.LoadBalanceInNodes**f.LoadBalanceBetweenNodes - *f.LoadBalance; math.Abs(d) > 1e-9 || *f.LoadBalanceBetweenNodes != 1 {
					t.Errorf("%v: one node: %+v", options, f)
				}
				// Begin and end of a rank are some ticks of its clock off.
				if spent := *f.ComputingSeconds + *f.MPISeconds; f.Locations != 2 || spent > 2**f.Seconds+1e-7 || math.Abs(*f.ComputingSeconds-2**f.ParallelEfficiency**f.Seconds) > 1e-6 {
					t.Errorf("%v: %g s of 2 ranks in %g s, %d locations", options, spent, *f.Seconds, f.Locations)
				}
			}
			for _, share := range p.Efficiency.Bins {
				if share < 0 || share > 1 {
					t.Errorf("%v: bins %v", options, p.Efficiency.Bins)
				}
			}
			contains(t, execute(t, nil, binary(t), "status", out, "--timeout", "1m").stdout, "\nefficiency  parallel efficiency ", "load balance ", "communication ")
			url := strings.TrimSpace(execute(t, nil, binary(t), "status", out, "--url", "--timeout", "1m").stdout)
			response, err := http.Get(strings.Replace(url, "/?", "/metrics?", 1))
			if err != nil {
				t.Fatal(err)
			}
			metrics, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			contains(t, string(metrics), `moriens_efficiency_ratio{factor="parallel_efficiency",window="run"} `, "\nmoriens_computing_seconds_total ", "\nmoriens_mpi_seconds_total ", "\nmoriens_longest_call_seconds ")
			end(t, over)
			if err := run.Wait(); err != nil {
				t.Errorf("%v: %v\n%s", options, err, output)
			}
		}
	})
}
