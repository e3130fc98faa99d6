package structure

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"moriens/analysis/program"
	"moriens/internal/files"
	"moriens/internal/hint"
	"moriens/internal/units"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// What lines print of MPI calls, their function and their number, is compared with call paths and profile, which
// are made without any sequence.

// profiled are the numbers of calls that a profile has: by call path, or by place where rows are by place.
type profiled struct {
	places bool
	calls  map[string]int64                       // of all threads
	each   map[rundir.ThreadName]map[string]int64 // of each thread; a run of polls is one
}

// readProfiled reads the numbers of calls of a run directory; nil: it has no profile.
func readProfiled(dir string) (*profiled, error) {
	f, err := files.Open(filepath.Join(dir, rundir.ProfileFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var rows []parquet.ProfileRow
	p := new(profiled)
	err = parquet.ScanProfile(f, f.Size(), []string{"world", "rank", "thread", "call_path", "count", "records", "paths"}, func(x *parquet.Profile) {
		for i := range x.Rows {
			if x.Rows[i].Kind == parquet.ProfileMPI {
				rows = append(rows, x.Rows[i])
				p.places = p.places || x.Rows[i].Paths > 0
			}
		}
	})
	if err != nil {
		return nil, hint.Default(fmt.Errorf("%s: %w", rundir.ProfileFile, err), rundir.AdviseDamage)
	}
	p.add(rows)
	return p, nil
}

func (p *profiled) add(rows []parquet.ProfileRow) {
	p.calls, p.each = make(map[string]int64), make(map[rundir.ThreadName]map[string]int64)
	for i := range rows {
		r := &rows[i]
		t, key := rundir.ThreadName{World: int(r.World), Rank: int(r.Rank), Thread: int(r.Thread)}, p.key(r.CallPath)
		if p.each[t] == nil {
			p.each[t] = make(map[string]int64)
		}
		p.calls[key] += r.Count
		p.each[t][key] += r.Records
	}
}

// key is by what calls of a path are counted.
func (p *profiled) key(path string) string {
	if p.places {
		path, _, _ = strings.Cut(path, "<")
	}
	return path
}

// together are lines that have call paths in common: what they have together can be compared.
type together struct {
	lines []*program.Node
	keys  map[string]bool
}

// sharing puts the lines of MPI calls together that have call paths in common.
func (v *verifier) sharing(p *profiled) []*together {
	var list []*together
	of := make(map[string]*together)
	program.Walk(v.program.Body, func(n *program.Node, _ []*program.Node) {
		if n.Kind != program.KindMPI && n.Kind != program.KindOther || len(n.Paths) == 0 {
			return
		}
		x := &together{lines: []*program.Node{n}, keys: make(map[string]bool)}
		for _, k := range n.Paths {
			if k < 0 || k >= len(v.paths.Paths) {
				continue
			}
			key := p.key(v.paths.Paths[k].Name)
			if old := of[key]; old != nil && old != x {
				for other := range old.keys {
					of[other] = x
					x.keys[other] = true
				}
				x.lines = append(old.lines, x.lines...)
				list = slices.DeleteFunc(list, func(o *together) bool { return o == old })
			}
			of[key] = x
			x.keys[key] = true
		}
		if len(x.keys) > 0 {
			list = append(list, x)
		}
	})
	return list
}

// names says which line has another function of MPI than its call paths have.
func (v *verifier) names() (differs string) {
	program.Walk(v.program.Body, func(n *program.Node, _ []*program.Node) {
		if n.Kind != program.KindMPI || differs != "" {
			return
		}
		for _, k := range n.Paths {
			if k < 0 || k >= len(v.paths.Paths) {
				differs = fmt.Sprintf("line %d of the text has call path %d, which is not in %s", n.ID, k, rundir.CallPathsFile)
				return
			}
			if name := v.paths.Paths[k].Function; name != n.Function {
				differs = fmt.Sprintf("line %d of the text is %s, its calls are of %s (%s)", n.ID, n.Function, name, v.paths.Paths[k].Name)
				return
			}
		}
	})
	return differs
}

// missing says which calls are in no line.
func missing(calls map[string]int64, list []*together) string {
	for _, key := range slices.Sorted(maps.Keys(calls)) {
		if n := calls[key]; n > 0 && key != unknownPath && !slices.ContainsFunc(list, func(x *together) bool { return x.keys[key] }) {
			return fmt.Sprintf("%s was called %s, and is in no line of the text", key, units.Counted(int(n), "time"))
		}
	}
	return ""
}

// lines says which lines have another number of calls than all threads made.
func (v *verifier) lines(p *profiled) (differs string) {
	if v.folded.anywhere {
		return v.sum(p)
	}
	list := v.sharing(p)
	for _, x := range list {
		var got, want int64
		for _, n := range x.lines {
			got += n.Count
		}
		for key := range x.keys {
			want += p.calls[key]
		}
		if got != want {
			return fmt.Sprintf("%s was called %s, %s %s", slices.Sorted(maps.Keys(x.keys))[0], units.Counted(int(want), "time"), linesOf(x.lines), saying(len(x.lines), got))
		}
	}
	return missing(p.calls, list)
}

func saying(lines int, calls int64) string {
	if lines == 1 {
		return fmt.Sprintf("says %d", calls)
	}
	return fmt.Sprintf("say %d in all", calls)
}

func linesOf(list []*program.Node) string {
	var ids []string
	for _, n := range list {
		ids = append(ids, fmt.Sprint(n.ID))
	}
	return fmt.Sprintf("%s %s of the text", units.Plural(len(ids), "line"), strings.Join(ids, ", "))
}

// gaps compares the number of each call of a thread that has gaps, of which the order of calls says nothing, with the
// profile.
func (v *verifier) gaps(t rundir.StructureThread, rank int) (string, error) {
	counts, err := v.program.Counts(rank, t.Thread)
	if err != nil {
		return "", err
	}
	made := v.profiled.each[t.ThreadName]
	for _, n := range made {
		v.made.Calls += n
	}
	if v.shared == nil {
		v.shared = v.sharing(v.profiled)
	}
	list := v.shared
	cut := isCut(t, maps.Keys(made))
	if cut {
		v.made.Cut++
	}
	for _, x := range list {
		var got, want int64
		for _, n := range x.lines {
			got += counts[n]
		}
		once := false
		for key := range x.keys {
			want += made[key]
			once = once || v.isOnce(key)
		}
		summed := v.folded.anywhere || slices.ContainsFunc(x.lines, func(n *program.Node) bool { return n.Kind == program.KindOther })
		if got != want && !(summed && got < want) && !(once && got > 0 && got < want) && !(cut && got > want) {
			return fmt.Sprintf("%s was called %s, in the program %s", slices.Sorted(maps.Keys(x.keys))[0], units.Counted(int(want), "time"), units.Counted(int(got), "time")), nil
		}
	}
	if v.folded.anywhere {
		return "", nil
	}
	return missing(made, list), nil
}

// isCut reports whether a thread ended in the middle: the program goes on with what it did not come to any more.
func isCut(t rundir.StructureThread, calls iter.Seq[string]) bool {
	for name := range calls {
		if strings.HasPrefix(name, "MPI_Finalize") {
			return false
		}
	}
	return t.Thread == 0
}
