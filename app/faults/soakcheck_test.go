package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"moriens/agent/uplink"
	"moriens/app/measure"
	"moriens/trace/rundir"
)

// counted are the calls that a manifest counts as lost, one by one.
func counted(m *rundir.Manifest) int {
	return int(m.Dropped + m.Losses.CallsUnrecorded + m.Losses.CallsAbandoned)
}

// checkProgram checks that the program has computed and ended as it does alone.
func (r *soakRound) checkProgram() {
	p := &r.plan
	if p.has(killRank) {
		return
	}
	if got, want := resultOf(r.said("stdout")), p.result(); !strings.HasPrefix(got+"\n", want+"\n") {
		r.fail(kindProgram, "it has worked out %q, want %s", got, want)
	}
	if p.way == byRun && r.killed {
		return // with it the status has gone
	}
	status := 0
	var exit *exec.ExitError
	if errors.As(r.err, &exit) {
		status = exit.ExitCode()
	} else if r.err != nil {
		r.fail(kindProgram, "%v", r.err)
	}
	if status != p.status && !(p.way == byRun && p.status == 0 && status == 3 && (r.incomplete() || r.elsewhere())) {
		r.fail(kindProgram, "exit status %d, want %d: %s", status, p.status, lastLine(r.said("stderr")))
	}
}

// incomplete reports whether there is a result that says that it is not complete.
func (r *soakRound) incomplete() bool {
	m, _, err := r.manifest()
	return err == nil && !m.Complete
}

// elsewhere reports whether the run directory had no room for the results, so that they are in the temporary directory.
// The collector's files are kept then.
func (r *soakRound) elsewhere() bool {
	_, dir, err := r.manifest()
	return err == nil && dir != r.out
}

// manifest reads it, from where the results are: in the temporary directory where the run directory had no room.
func (r *soakRound) manifest() (m *rundir.Manifest, dir string, err error) {
	dir = r.out
	if !exists(filepath.Join(dir, rundir.ManifestFile)) && r.disk != nil {
		if found, _ := filepath.Glob(filepath.Join(r.tmp, "run-*", rundir.ManifestFile)); len(found) > 0 {
			dir = filepath.Dir(found[0])
		}
	}
	m, err = rundir.ReadManifest(dir)
	return m, dir, err
}

// checkResults compares the results with what the program says that it did.
func (r *soakRound) checkResults() {
	if len(r.found.faults[kindHang]) > 0 {
		return // they cannot be there
	}
	made, total, processes := r.made()
	r.found.made = total
	if total == 0 {
		r.fail(kindProgram, "it was not let to MPI: %s", lastLine(r.said("stderr")))
		return
	}
	m, dir, err := r.manifest()
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.nothing && r.saidSo():
		r.found.stated = total
		return
	case err != nil:
		r.fail(kindSilent, "no results: %v\n%s", err, r.said("stderr"))
		return
	}
	uncertain := 0
	if r.plan.has(killRank) { // a thread may not have entered the call that it has counted
		uncertain = processes * r.plan.threads
	}
	for name, n := range m.MPICalls {
		r.found.recorded += int(n)
		if int(n) > made[name] {
			r.fail(kindTwice, "%d calls of %s recorded, %d made", n, name, made[name])
		}
	}
	r.found.counted = counted(m)
	missing := total - r.found.recorded - r.found.counted
	stated := lacksOf(m)
	switch {
	case missing < -uncertain:
		r.fail(kindStatement, "%d calls recorded and %d counted as lost, %d made", r.found.recorded, r.found.counted, total)
	case missing > uncertain && !stated.any():
		r.fail(kindSilent, "%d calls recorded and %d counted as lost, %d made: %d are missing, and nothing says so", r.found.recorded, r.found.counted, total, missing)
	case missing > uncertain:
		r.found.stated = missing
	}
	r.checkRanks(m, dir, stated, uncertain)
	r.checkStatement(m, made, missing > uncertain)
}

// saidSo reports whether the job was informed that there will be no results. Under a plain preload that is reported by
// the rank that has started the agent, in MPI_Finalize: one that was killed before it returned from there cannot, and
// no other process is left. That shows in the counts which it leaves after that.
func (r *soakRound) saidSo() bool {
	if strings.Contains(r.said("stderr"), "moriens: ") {
		return true
	}
	if r.plan.way != byPreload || !r.plan.has(killRank) || r.starter == 0 {
		return false
	}
	rank, known := rankOfCounts(r.t, filepath.Join(r.truth, fmt.Sprintf("shared.%d", r.starter)))
	return !known || !exists(filepath.Join(r.truth, fmt.Sprintf("counts.%d", rank)))
}

// agentTooLate reports whether the agent that we have restarted, directly or after its parent was killed, found that
// the run had ended, as everything had been sent before: then it reports that, and fails. The results must be there
// without an unfinished agent; whether they are whole is checked by checkResults.
func (r *soakRound) agentTooLate() bool {
	m, _, err := r.manifest()
	return err == nil && len(m.Losses.AgentsUnfinished) == 0 && (r.killed || r.agent.count() > 1) && strings.Contains(r.agent.latest(), "\nmoriens: "+uplink.ErrOver.Error())
}

// checkStatement checks that the statements of the results fit together.
func (r *soakRound) checkStatement(m *rundir.Manifest, made map[string]int, missing bool) {
	lost := missing || counted(m) > 0
	if m.Complete && lost {
		r.fail(kindStatement, "complete, and %d calls are counted as lost, others are missing: %t", counted(m), missing)
	}
	summary, _ := os.ReadFile(filepath.Join(r.out, "summary.txt"))
	said := string(summary) + r.said("stdout")
	if r.collector != nil {
		said += r.collector.whole()
	}
	if lost && strings.Contains(said, "losses: none") {
		r.fail(kindStatement, "losses: none, and %d calls are counted as lost, others are missing: %t", counted(m), missing)
	}
	if lost || r.plan.has(killRank) {
		return
	}
	if sends := int64(made["MPI_Isend"]); int64(m.Messages.Sends) != sends || int64(m.Messages.Receives) != sends || int64(m.Messages.Matched) != sends {
		r.fail(kindStatement, "%d sends, %d receives, %d of them paired, of %d messages: %+v", m.Messages.Sends, m.Messages.Receives, m.Messages.Matched, sends, m.Messages.Unmatched)
	}
	if len(r.plan.incidents) == 0 && m.Losses.WindowsEvicted == 0 && len(m.Reduction.Missing) > 0 {
		r.fail(kindStatement, "nothing happened, and there are missing %q", m.Reduction.Missing)
	}
}

// checkLeft checks that nothing remains: no process, no ring, no spool, no socket, nothing in the run directory but
// results.
func (r *soakRound) checkLeft() {
	if len(r.found.faults[kindHang]) > 0 {
		return // what was ended by force can leave things
	}
	m, dir, err := r.manifest()
	if err != nil {
		return // which is a loss, or was reported
	}
	// Of what else there is the system's own temporary directory has the spool where the round's has no room.
	var found []string
	for _, pattern := range []string{
		filepath.Join(r.shm, "*"), filepath.Join(r.tmp, "moriens-*", "*"), filepath.Join(r.tmp, "moriens-socket*"), filepath.Join(r.tmp, ".moriens*"),
		filepath.Join(filepath.Dir(r.out), ".moriens*"), filepath.Join(r.work, ".moriens*"), filepath.Join(os.TempDir(), "moriens-*", m.Run+"*"), "/dev/shm/moriens-*-" + m.Run,
	} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			r.t.Fatal(err)
		}
		found = append(found, paths...)
	}
	if r.spool != r.tmp {
		paths, err := filepath.Glob(filepath.Join(r.spool, "moriens-*", "*"))
		if err != nil {
			r.t.Fatal(err)
		}
		found = append(found, paths...)
	}
	if dir == r.out { // else the results of the run are kept in it
		found = append(found, r.strange(m)...)
	}
	for _, path := range found {
		r.fail(kindLeftover, "%s", path)
	}
}

// strange lists what is in the run directory and is no result.
func (r *soakRound) strange(m *rundir.Manifest) (paths []string) {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		result := name == rundir.ManifestFile || name == measure.SummaryFile || strings.HasSuffix(name, ".log") ||
			slices.ContainsFunc(m.Files, func(f rundir.File) bool { return f.Name == name || strings.HasPrefix(f.Name, name+"/") })
		if !result {
			paths = append(paths, filepath.Join(r.out, name))
		}
	}
	return paths
}
