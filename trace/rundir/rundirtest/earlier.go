package rundirtest

import (
	"errors"
	"os"
	"path/filepath"

	pq "github.com/parquet-go/parquet-go"

	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// earlier is a row of profile.parquet of format 1: phases are names, nothing is cut at their borders, and where bursts
// lie is not known.
type earlier struct {
	Kind          string   `parquet:"kind,dict"`
	World         *int32   `parquet:"world,optional"`
	Rank          *int32   `parquet:"rank,optional"`
	Thread        *int32   `parquet:"thread,optional"`
	CallPath      *string  `parquet:"call_path,optional,dict"`
	Cluster       *int32   `parquet:"cluster,optional"`
	Phase         *string  `parquet:"phase,optional,dict"`
	Iterations    *int32   `parquet:"iterations,optional"`
	First         *int64   `parquet:"first,optional"`
	Count         int64    `parquet:"count"`
	Records       int64    `parquet:"records"`
	TimeNS        int64    `parquet:"time_ns"`
	MinNS         *int64   `parquet:"min_ns,optional"`
	MaxNS         *int64   `parquet:"max_ns,optional"`
	SquaresNS2    *float64 `parquet:"squares_ns2,optional"`
	ElapsedNS     *int64   `parquet:"elapsed_ns,optional"`
	SentBytes     *int64   `parquet:"sent_bytes,optional"`
	ReceivedBytes *int64   `parquet:"received_bytes,optional"`
	Sum           *int64   `parquet:"PAPI_TOT_INS.sum,optional"`
	Min           *int64   `parquet:"PAPI_TOT_INS.min,optional"`
	Max           *int64   `parquet:"PAPI_TOT_INS.max,optional"`
	Squares       *float64 `parquet:"PAPI_TOT_INS.squares,optional"`
	Missing       *int64   `parquet:"PAPI_TOT_INS.missing,optional"`
}

// Earlier makes of a planted profile what a version of moriens had that wrote format 1: it counts one counter, has no
// rows of phases, no paused and unrecorded time, and instead of paths the names of innermost phases.
func (p *Profiled) Earlier() {
	p.Profile.Format, p.Instances = 1, nil
	p.Profile.Counters = p.Profile.Counters[:1]
	var rows []parquet.ProfileRow
	for _, r := range p.Profile.Rows {
		switch r.Kind {
		case parquet.ProfileMPI, parquet.ProfileTraffic:
		case parquet.ProfileComputation:
			if r.Counters = r.Counters[:1]; r.Count == 0 {
				continue // a part of a burst
			}
			r.Context, r.EstimatedNS = -1, 0
		default:
			continue
		}
		if r.InPhase {
			names := trace.PhaseNames(r.Phase)
			r.Phase = names[len(names)-1]
		}
		r.WholeNS = r.TimeNS
		rows = append(rows, r)
	}
	p.Profile.Rows = rows
}

// WriteEarlier puts the files of an earlier version into a directory: without callpaths.json, of which clusters.json
// named those of bursts, and without instances.
func WriteEarlier(dir string, p *Profiled, manifest map[string]any) error {
	var list []earlier
	for i := range p.Profile.Rows {
		r := &p.Profile.Rows[i]
		x := earlier{Kind: r.Kind, World: &r.World, Rank: &r.Rank, CallPath: &r.CallPath, Count: r.Count, Records: r.Records, TimeNS: r.TimeNS}
		if r.InPhase {
			x.Phase = &r.Phase
		}
		if r.Kind != parquet.ProfileTraffic {
			x.Thread, x.MinNS, x.MaxNS, x.SquaresNS2 = &r.Thread, &r.MinNS, &r.MaxNS, &r.SquaresNS2
		}
		switch r.Kind {
		case parquet.ProfileComputation:
			c := &r.Counters[0]
			x.Cluster, x.Sum, x.Min, x.Max, x.Squares, x.Missing = &r.Cluster, &c.Sum, &c.Min, &c.Max, &c.Squares, &c.Missing
		case parquet.ProfileMPI, parquet.ProfileTraffic:
			if !r.InTraffic {
				x.SentBytes, x.ReceivedBytes = &r.SentBytes, &r.ReceivedBytes
			}
		}
		list = append(list, x)
	}
	f, err := os.Create(filepath.Join(dir, rundir.ProfileFile))
	if err != nil {
		return err
	}
	w := pq.NewGenericWriter[earlier](f, pq.Compression(&pq.Snappy), pq.KeyValueMetadata("moriens.format", "1"), pq.KeyValueMetadata("moriens.unit.PAPI_TOT_INS.sum", "instructions"))
	_, err = w.Write(list)
	if err := errors.Join(err, w.Close(), f.Close()); err != nil {
		return err
	}
	c := &rundir.Clusters{Format: rundir.ClustersFormat}
	place := c.PathsOf(p.Paths)
	for i := range p.Paths.CallPaths {
		place(uint32(i))
	}
	if err := writeText(filepath.Join(dir, rundir.ClustersFile), c); err != nil || manifest == nil {
		return err
	}
	return writeText(filepath.Join(dir, rundir.ManifestFile), manifest)
}
