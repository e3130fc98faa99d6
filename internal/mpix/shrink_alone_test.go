//go:build !mpi

package mpix

func shrink(Transport) {}
