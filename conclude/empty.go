package conclude

import (
	"slices"

	"moriens/collector/store"
	"moriens/conclude/rebuild"
	"moriens/internal/team"
	moriensv1 "moriens/proto/moriens/v1"
)

// ofMemory says whether it is for its shared memory that a rank goes unrecorded.
func ofMemory(fault *moriensv1.Fault) bool { return fault.Corrupt == "" && fault.Errno != 0 }

const adviseBefore = "put libmoriens.so first in LD_PRELOAD, or remove the other tool; `moriens doctor` checks the order"

// pastAdvice is what to do about programs that find MPI by dlopen.
const pastAdvice = "open the MPI library with RTLD_GLOBAL and look up its functions in the process (Python: keep CDLL(\"libmpi.so\", mode=RTLD_GLOBAL), call through CDLL(None)); see docs/limits.md"

// directAdvice is what to do about programs that call PMPI_Init themselves.
const directAdvice = "let the program call MPI_Init instead of PMPI_Init, or build it without wrappers that call PMPI_Init; see docs/limits.md"

// whyEmpty is collective: it says why there is no burst, and what to do where that is known here; "" if there are
// bursts.
func whyEmpty(r *rebuild.Rebuilt, f store.Frozen) (why, advice string, err error) {
	bursts, err := team.Any(r.Team, slices.ContainsFunc(r.Own, func(i int) bool { return r.Run.Threads[i].Bursts.Len() > 0 }))
	if bursts || err != nil {
		return "", "", err
	}
	switch {
	case len(f.Agents) == 0:
		return "no agent reached the collector", "is `moriens agent` running on the job's nodes, with --dir set to this run directory?", nil
	case r.Refused > 0:
		for _, a := range f.Agents {
			for _, fault := range a.Faults {
				if fault.Before != "" {
					return "no rank could record: " + store.Why(fault), adviseBefore, nil
				}
			}
		}
		for _, a := range f.Agents {
			for _, fault := range a.Faults {
				switch {
				case fault.Past != "" && fault.Reason != "":
					return "no rank could record: " + store.Why(fault), directAdvice, nil
				case fault.Past != "":
					return "no rank could record: " + store.Why(fault), pastAdvice, nil
				}
			}
		}
		// What the node's agent says of it, it has said with its own advice.
		if of := slices.IndexFunc(f.Agents, func(a *store.Agent) bool { return slices.ContainsFunc(a.Faults, ofMemory) }); of < 0 {
			return "no rank could record: " + r.Absent[0].Reason, "see the agents' messages on stderr", nil
		}
		return "no rank could record", "free shared memory (/dev/shm, or the directory of --shm; df shows its usage)", nil
	case unreadable(f) > 0:
		return "the ranks' records cannot be read", "see the notes in manifest.json for the files", nil
	case len(f.Processes) == 0:
		return "no process of the job called MPI under moriens", "", nil
	}
	if len(hidden(f)) > 0 {
		return "no rank made two MPI calls through libmoriens.so, so there are no bursts between them", adviseBefore, nil
	}
	return "no rank made two MPI calls, so there are no bursts between them", "is this the right program, and did it reach its computation?", nil
}
