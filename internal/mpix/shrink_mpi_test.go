//go:build mpi

package mpix

// shrink has little go at a time, so that everything takes several pieces.
func shrink(m Transport) { m.(*job).staging = 1 << 10 }
