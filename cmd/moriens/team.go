package main

import (
	"errors"
	"os"

	"moriens/internal/mpix"
	"moriens/internal/plain"
	"moriens/internal/team"
)

// inStep runs a command as one member of a team: of the MPI job that this program was started in, or alone. What one
// member fails by ends the command at all, with one status. The first that has an error of its own says it, before any
// ends: launchers kill the others then.
func inStep(run func(m mpix.Transport) error) error {
	m, err := mpix.Open()
	if err != nil {
		return err
	}
	err = run(m)
	const statuses = 256
	speaker := []int64{int64(m.Size() * statuses)}
	if err != nil && !errors.Is(err, team.ErrElsewhere) {
		speaker[0] = int64(m.Rank()*statuses + statusOf(err))
	}
	if lost := m.AllReduce(speaker, team.Min); lost != nil {
		if err == nil || errors.Is(err, team.ErrElsewhere) {
			err = lost
		}
		return err
	}
	rank, status := int(speaker[0]/statuses), int(speaker[0]%statuses)
	if rank == m.Rank() {
		complain(plain.Writer(os.Stderr), cause(err))
	}
	if err := m.Close(); err != nil || rank == m.Size() {
		return err
	}
	return exitStatus{status: status}
}
