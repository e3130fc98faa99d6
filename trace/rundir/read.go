package rundir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"moriens/internal/files"
	"moriens/internal/hint"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/prv"
)

// Read reads a finished run directory back: the kept trace, the manifest and the clusters. Run.Clusters are those of
// the whole run.
//
// Times and items come from trace.prv; what it cannot hold comes from the other files: counters, weights and call paths
// of bursts from bursts.parquet, call paths from callpaths.json (of a directory that an earlier version has written,
// which has none, their frames from clusters.json), phases, events and transfers from their files, hosts, programs and
// communicators from manifest.json. In no file, and so not in the Run, are the ordinals of collectives, and the seconds
// of the wall-clock start. Files that do not belong together are an error, and so is a file whose size is not the one
// that the manifest names.
func Read(dir string) (*trace.Run, *Manifest, *Clusters, error) {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return nil, nil, nil, hint.With(fmt.Errorf("run directory: %w", err), adviseDirectory)
	case !info.IsDir():
		return nil, nil, nil, hint.With(fmt.Errorf("run directory: %s is not a directory", dir), adviseDirectory)
	}
	run, m, c, err := read(files.Dir(dir))
	if err != nil {
		err = fmt.Errorf("run directory %s: %w", dir, err)
	}
	return run, m, c, err
}

// AdviseDamage is what to do where files of a run directory cannot be read.
const AdviseDamage = "the run directory is damaged: copy it again from its origin"

const (
	adviseDirectory = "name a directory that moriens run, collect or analyze created"
	adviseMixture   = "its files do not belong to one run: copy it again from its origin"
)

// ErrNobody is why a directory with manifest.json alone has no run.
var ErrNobody = errors.New("no rank was recorded")

func read(dir fs.FS) (*trace.Run, *Manifest, *Clusters, error) {
	m := new(Manifest)
	if err := readJSON(dir, ManifestFile, ManifestFormat, m); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil, nil, noManifest(dir)
	} else if err != nil {
		return nil, nil, nil, err
	}
	if m.Nobody() {
		return nil, m, nil, hint.With(fmt.Errorf("%w: %s", ErrNobody, m.Empty), "there is nothing to show or to export: measure again")
	}
	c := new(Clusters)
	if err := readJSON(dir, ClustersFile, ClustersFormat, c); err != nil {
		return nil, nil, nil, hint.Default(err, AdviseDamage)
	}
	if err := sameSizes(dir, m.Files); err != nil {
		return nil, nil, nil, hint.With(err, AdviseDamage)
	}
	r := &restorer{manifest: m, clusters: c}
	if m.has(CallPathsFile) {
		paths, err := readCallPaths(dir)
		if err != nil {
			return nil, nil, nil, hint.Default(err, AdviseDamage)
		}
		r.numbered = paths.Run()
	}
	if err := r.files(dir); err != nil {
		return nil, nil, nil, hint.With(err, AdviseDamage)
	}
	if err := r.restore(); err != nil {
		return nil, nil, nil, hint.With(err, adviseMixture)
	}
	return r.run, m, c, nil
}

// NoManifest says what is in the place of a run directory, of which manifest.json cannot be found.
func NoManifest(dir string) error {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return hint.With(errors.New("no such directory"), adviseDirectory)
	case err != nil:
		return hint.With(err, adviseDirectory)
	case !info.IsDir():
		return hint.With(errors.New("not a directory"), adviseDirectory)
	}
	return noManifest(files.Dir(dir))
}

// noManifest says what a directory without a manifest is.
func noManifest(dir fs.FS) error {
	there := func(name string) bool { _, err := fs.Stat(dir, name); return err == nil }
	if there(JournalDir) {
		return hint.With(errors.New("the run has no results yet"), "moriens status shows the state of the run, moriens finish ends it with full analysis")
	}
	for _, name := range []string{ClustersFile, BurstsFile, TraceFile, LabelsFile} {
		if there(name) || there(name+".partial") {
			return hint.With(fmt.Errorf("no %s: the results are incomplete", ManifestFile),
				"the disk was full or the writer was killed; the existing files can be read one by one")
		}
	}
	return hint.With(fmt.Errorf("no %s: not a run directory", ManifestFile), adviseDirectory)
}

// sameSizes compares the files of a directory with what its manifest says of them.
func sameSizes(dir fs.FS, files []File) error {
	for _, f := range files {
		if f.Name == ReportFile {
			continue
		}
		info, err := fs.Stat(dir, f.Name)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			if in, err := dir.Open(f.Name); err != nil {
				return err // which says what it is
			} else {
				in.Close()
			}
		}
		if info.Size() != f.Bytes {
			return fmt.Errorf("%s has %d bytes, not %d as %s says", f.Name, info.Size(), f.Bytes, ManifestFile)
		}
	}
	return nil
}

// has reports whether the directory was written with a file.
func (m *Manifest) has(name string) bool {
	return slices.ContainsFunc(m.Files, func(f File) bool { return f.Name == name })
}

// files reads the trace, the bursts and the marks.
func (r *restorer) files(dir fs.FS) error {
	if r.manifest.Traced() == 0 { // no process called MPI_Init: there is nothing in the trace, not even an application
		r.run = &trace.Run{CallPaths: []trace.CallPath{{}}}
		return nil
	}
	if err := r.readTrace(dir); err != nil {
		return fmt.Errorf("%s: %w", TraceFile, err)
	}
	err := withFile(dir, BurstsFile, func(in io.ReaderAt, bytes int64) (err error) {
		if r.numbered == nil {
			r.bursts, err = parquet.Read(in, bytes)
		} else {
			r.bursts, err = parquet.ReadNumbered(in, bytes, r.numbered.CallPaths, r.numbered.PathNames)
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(r.manifest.Phases) > 0 {
		err = withFile(dir, PhasesFile, func(in io.ReaderAt, bytes int64) error { return parquet.ReadPhases(in, bytes, r.phase) })
	}
	if err == nil && len(r.manifest.Events) > 0 {
		err = withFile(dir, EventsFile, func(in io.ReaderAt, bytes int64) error { return parquet.ReadEvents(in, bytes, r.event) })
	}
	if err == nil && r.manifest.has(TransfersFile) {
		r.transfers = []parquet.Transfer{}
		most := freeTransfers + transfersPerCall*r.run.Calls()
		err = withFile(dir, TransfersFile, func(in io.ReaderAt, bytes int64) error {
			return parquet.ReadTransfers(in, bytes, func(t parquet.Transfer) error {
				if len(r.transfers) == most {
					return fmt.Errorf("more than %d transfers of %d calls: %w", most, r.run.Calls(), parquet.ErrBomb)
				}
				r.transfers = append(r.transfers, t)
				return nil
			})
		})
	}
	return err
}

// How many transfers the calls of a trace may have: the first so many, and so many of each. Rows without times take
// next to no room in their file.
const (
	freeTransfers    = 1 << 20
	transfersPerCall = 64
)

func (r *restorer) readTrace(dir fs.FS) error {
	var files [3]fs.File
	for i, name := range []string{TraceFile, LabelsFile, NamesFile} {
		f, err := dir.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		files[i] = f
	}
	options := prv.Options{Labels: files[1], Names: files[2], Own: true}
	if r.numbered != nil {
		options.CallPaths = r.numbered.CallPaths
	}
	read, err := prv.Read(files[0], options)
	if err != nil {
		return err
	}
	r.take(read.Run)
	return nil
}

func withFile(dir fs.FS, name string, use func(in io.ReaderAt, bytes int64) error) error {
	f, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	in, ok := f.(io.ReaderAt)
	if !ok || !info.Mode().IsRegular() {
		return fmt.Errorf("%s is %w", name, files.ErrNotRegular)
	}
	if err := use(in, info.Size()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
