// Package profiling answers where the time of a run went: it reads profile.parquet, callpaths.json and
// instances.parquet of a run directory, and makes of them trees of what ran inside what, tables with statistics over
// threads, and series over the instances of a phase. Times are nanoseconds.
//
// Rows are read thread by thread: what is in memory does not grow with the number of threads times that of rows, but
// where a file has the rows of a thread in several places.
package profiling

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"moriens/app/pairing"
	"moriens/app/question"
	"moriens/internal/files"
	"moriens/internal/hint"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// A Source is a run directory that has a profile.
type Source struct {
	Dir      string
	Manifest *rundir.Manifest
	Format   int // of profile.parquet; 1: phases are names, not paths
	Counters []trace.Counter
	Classes  bool // of some places call paths are known of classes of ranks alone

	paths   map[string]*trace.CallPath // by name
	numbers []string                   // names of call paths by their numbers; nil: they have none
	loops   *loops                     // nil: they were not asked for
	hosts   map[rankName]string        // nil: not known
}

type rankName struct{ world, rank int32 }

// again says what makes a directory of an earlier version one of this.
const again = "measure, or analyze, again with this version"

// Open reads of a run directory what stands beside the rows of its profile.
func Open(dir string) (*Source, error) {
	s, err := open(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return s, nil
}

func open(dir string) (*Source, error) {
	m, err := question.Manifest(dir)
	if err != nil {
		return nil, err
	}
	if m.Nobody() {
		return nil, question.Misuse("moriens status "+dir+" says what is known", "no rank was recorded: %s", m.Empty)
	}
	s := &Source{Dir: dir, Manifest: m, paths: make(map[string]*trace.CallPath)}
	head, err := question.Read(dir, m, question.File[parquet.Profile]{Name: rundir.ProfileFile, Of: "a profile", Read: readHead})
	if err != nil {
		return nil, err
	}
	s.Format, s.Counters, s.Classes = head.Format, head.Counters, head.Classes
	if err := s.readPaths(); err != nil {
		return nil, hint.Default(err, rundir.AdviseDamage)
	}
	s.readHosts()
	return s, nil
}

func readHead(dir string) (head *parquet.Profile, err error) {
	err = withFile(dir, rundir.ProfileFile, func(f *files.File) error {
		head, err = parquet.ReadProfileHead(f, f.Size())
		return err
	})
	return head, err
}

// withFile opens a file of the directory, and names it in errors of what it has.
func withFile(dir, name string, read func(f *files.File) error) error {
	f, err := files.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := read(f); err != nil {
		return hint.Default(fmt.Errorf("%s: %w", name, err), rundir.AdviseDamage)
	}
	return nil
}

// readPaths reads the frames of call paths: in directories of earlier versions, of those that clusters.json names.
func (s *Source) readPaths() error {
	t, err := rundir.ReadCallPaths(s.Dir)
	if err == nil {
		run := t.Run()
		s.numbers = run.PathNames
		for i, name := range run.PathNames {
			s.paths[name] = &run.CallPaths[i]
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c, err := rundir.ReadClusters(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range c.Paths {
		p, err := c.Paths[i].Path()
		if err != nil {
			return fmt.Errorf("%s: %w", rundir.ClustersFile, err)
		}
		s.paths[c.Paths[i].Name] = &p
	}
	return nil
}

// readHosts finds out on which hosts ranks ran.
func (s *Source) readHosts() {
	if len(s.Manifest.Hosts) == 1 {
		return // on that
	}
	p, err := rundir.ReadPairs(s.Dir)
	if err != nil {
		return // only what asks for hosts lacks it
	}
	ranks, err := pairing.RanksOf(p.Hosts)
	if err != nil {
		return
	}
	s.hosts = make(map[rankName]string, len(ranks))
	for _, r := range ranks {
		s.hosts[rankName{int32(r.World), int32(r.Rank)}] = r.Node
	}
}

// host is where a rank ran; empty: not known.
func (s *Source) host(r rankName) string {
	if len(s.Manifest.Hosts) == 1 {
		return s.Manifest.Hosts[0].Name
	}
	return s.hosts[r]
}

// scan hands out the rows of the profile. What give fails with is an error of the file.
func (s *Source) scan(wanted []string, give func(p *parquet.Profile) error) error {
	return withFile(s.Dir, rundir.ProfileFile, func(f *files.File) error {
		var failed error
		err := parquet.ScanProfile(f, f.Size(), wanted, func(p *parquet.Profile) {
			if failed == nil {
				failed = give(p)
			}
		})
		return cmp.Or(err, failed)
	})
}
