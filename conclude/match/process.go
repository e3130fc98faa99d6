package match

// A Process is one process of the run, as far as the matching needs it.
type Process struct {
	Owner     int  // member of the team that has its calls
	Whole     bool // all its transfers are here, call by call
	Finalized bool // it has returned from MPI_Finalize: everything sent has been received
	Gap       Gap  // from the first to the last gap in its records; NoGap = there is none
}
