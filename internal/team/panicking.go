package team

import "fmt"

// Panicking is a team whose calls panic when the team is lost; Leave turns the panic into an error. So code with many
// calls in it reads as that of one process does. They are not made on other goroutines than that which defers Leave.
type Panicking struct{ Threads }

// lost is what the panic has.
type lost struct{ error }

// Leave is deferred by functions with a team; name is that of the package, for the error.
func Leave(name string, err *error) {
	switch p := recover().(type) {
	case nil:
	case lost:
		*err = fmt.Errorf("%s: %w", name, p.error)
	default:
		panic(p)
	}
}

// Must gives what a call of a team's team has returned.
func Must[T any](made T, err error) T {
	if err != nil {
		panic(lost{err})
	}
	return made
}

// Reduce is AllReduce.
func (c Panicking) Reduce(op Op, values []int64) {
	if err := c.AllReduce(values, op); err != nil {
		panic(lost{err})
	}
}

// Alone reports whether there is no other member.
func (c Panicking) Alone() bool { return c.Size() == 1 }
