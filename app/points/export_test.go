package points

import "io"

// Read reads points to the end of r.
func Read(r io.Reader) (Matrix, error) { return read(r, 0) }
