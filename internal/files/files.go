// Package files answers what os does not say of files in one call.
package files

import "os"

// Same says whether two names are of one regular file that is there, by links or otherwise.
func Same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && x.Mode().IsRegular() && os.SameFile(x, y)
}
