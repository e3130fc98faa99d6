package grouping

var MustParse = mustParse

// SetWholeBursts changes how many bursts a group has at most that one member of a team clusters; the function that it
// returns undoes it.
func SetWholeBursts(n int) (undo func()) {
	before := wholeBursts
	wholeBursts = n
	return func() { wholeBursts = before }
}
