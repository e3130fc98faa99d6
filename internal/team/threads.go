package team

import "fmt"

// Threads is a team, and which member has what of a run: the bursts, calls and messages of a thread are at one member,
// its owner, and what is known of the thread itself is at all. The zero Threads is one process that has everything.
type Threads struct {
	Team         // nil = Solo
	Of   []int32 // by thread: the rank of its owner; nil in a team of one = all are its
}

// Rank implements Team.
func (t Threads) Rank() int { return t.members().Rank() }

// Size implements Team.
func (t Threads) Size() int { return t.members().Size() }

// AllGather implements Team.
func (t Threads) AllGather(mine []byte) ([][]byte, error) { return t.members().AllGather(mine) }

// AllToAll implements Team.
func (t Threads) AllToAll(parts [][]byte) ([][]byte, error) { return t.members().AllToAll(parts) }

// AllReduce implements Team.
func (t Threads) AllReduce(values []int64, op Op) error { return t.members().AllReduce(values, op) }

func (t Threads) members() Team {
	if t.Team == nil {
		return Solo{}
	}
	return t.Team
}

// Owner is the rank of the member that has a thread's bursts.
func (t Threads) Owner(thread int) int {
	if t.Of == nil {
		return 0
	}
	return int(t.Of[thread])
}

// Mine reports whether this member has a thread's bursts.
func (t Threads) Mine(thread int) bool { return t.Owner(thread) == t.Rank() }

// Check says what is wrong with the owners of so many threads: one is no member, or, with several members, they are not
// as many.
func (t Threads) Check(threads int) error {
	if len(t.Of) != threads && (t.Of != nil || t.Size() > 1) {
		return fmt.Errorf("team: owners of %d threads for %d threads", len(t.Of), threads)
	}
	for i, owner := range t.Of {
		if owner < 0 || int(owner) >= t.Size() {
			return fmt.Errorf("team: thread %d is at member %d of %d", i, owner, t.Size())
		}
	}
	return nil
}

// ByThread is collective: it returns the lists of all threads, by thread, of which each member gives those of its own;
// what it gives for others is not looked at. In a team of one that is the argument. What has to be added up in an order
// that does not depend on the members is gathered so, and then added up thread by thread.
func ByThread[T Plain](t Threads, lists [][]T) ([][]T, error) {
	if t.Size() == 1 {
		return lists, nil
	}
	var lengths []int64
	var values []T
	for i, list := range lists {
		if t.Mine(i) {
			lengths = append(lengths, int64(len(list)))
			values = append(values, list...)
		}
	}
	allLengths, err := Gather(t, lengths)
	if err != nil {
		return nil, err
	}
	allValues, err := Gather(t, values)
	if err != nil {
		return nil, err
	}
	return apart(t, len(lists), allLengths, allValues)
}

// apart takes the lists of so many threads out of what each member has of its own, one after the other.
func apart[T Plain](t Threads, threads int, lengths [][]int64, values [][]T) ([][]T, error) {
	all := make([][]T, threads)
	for i := range all {
		owner := t.Owner(i)
		if len(lengths[owner]) == 0 || lengths[owner][0] > int64(len(values[owner])) {
			return nil, fmt.Errorf("team: member %d has not sent what it has of thread %d", owner, i)
		}
		n := lengths[owner][0]
		all[i] = values[owner][:n:n]
		lengths[owner], values[owner] = lengths[owner][1:], values[owner][n:]
	}
	return all, nil
}
