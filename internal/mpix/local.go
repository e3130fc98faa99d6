package mpix

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"moriens/internal/team"
)

// Local returns the members, by rank, of a team of n, 1 or more, in this process. Each is for a separate goroutine.
// Abort ends the others' calls with an error.
func Local(n int) []Transport {
	h := &hub{round: newRound(n), mail: make([]mailbox, n*n)}
	h.changed.L = &h.mu
	all := make([]Transport, n)
	for rank := range all {
		all[rank] = &member{hub: h, rank: rank, size: n}
	}
	return all
}

// Each runs work at the n members of a team in this process, each on its own goroutine, and closes them. It returns
// what work has returned at all of them.
func Each(n int, work func(m Transport) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for rank, m := range Local(n) {
		all.Go(func() {
			defer m.Close()
			errs[rank] = work(m)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// A hub is where the members of a team in one process meet.
type hub struct {
	mu      sync.Mutex
	changed sync.Cond // of all below
	ended   error
	round   *round
	mail    []mailbox // from i to j: i·n + j
}

// A mailbox has the messages from one member to another that have not been received.
type mailbox struct {
	messages [][]byte
	closed   bool // none will follow
}

// A round is one collective call of all members.
type round struct {
	arrived         int
	least, greatest call
	fewest, most    int64
	given           []gift // by rank
}

// A gift is what a member gives to a collective call.
type gift struct {
	parts  [][]byte // for all, or for each
	values []int64
}

func newRound(n int) *round { return &round{given: make([]gift, n)} }

func (h *hub) end(err error) {
	if h.ended == nil {
		h.ended = err
	}
	h.changed.Broadcast()
}

type member struct {
	hub        *hub
	rank, size int
	turn       sync.Mutex // held during a collective call
	closed     bool       // or about to be
}

func (m *member) Rank() int { return m.rank }
func (m *member) Size() int { return m.size }

// meet gives g to the call c, and returns what all members have given, to be read alone.
func (m *member) meet(c call, g gift) ([]gift, error) {
	m.turn.Lock()
	defer m.turn.Unlock()
	h := m.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if m.closed && c != callClose {
		return nil, errClosed
	}
	if h.ended != nil {
		return nil, h.ended
	}
	r, n := h.round, int64(len(g.values))
	if r.arrived == 0 {
		r.least, r.greatest, r.fewest, r.most = c, c, n, n
	}
	r.least, r.greatest = min(r.least, c), max(r.greatest, c)
	r.fewest, r.most = min(r.fewest, n), max(r.most, n)
	r.given[m.rank] = g
	if r.arrived++; r.arrived == m.size {
		h.round = newRound(m.size)
		if err := disagree(r.least, r.greatest, r.fewest, r.most); err != nil {
			h.end(err)
		}
		h.changed.Broadcast()
	}
	for r.arrived < m.size && h.ended == nil {
		h.changed.Wait()
	}
	if r.arrived < m.size || disagree(r.least, r.greatest, r.fewest, r.most) != nil {
		return nil, h.ended
	}
	return r.given, nil
}

func (m *member) AllGather(mine []byte) ([][]byte, error) {
	var g gift
	if m.size > 1 {
		g.parts = [][]byte{slices.Clone(mine)}
	}
	given, err := m.meet(callAllGather, g)
	if err != nil {
		return nil, err
	}
	all := make([][]byte, m.size)
	for i := range all {
		if i == m.rank {
			all[i] = slices.Clone(mine)
		} else {
			all[i] = slices.Clone(given[i].parts[0])
		}
	}
	return all, nil
}

func (m *member) AllToAll(parts [][]byte) ([][]byte, error) {
	if err := checkParts(parts, m.size); err != nil {
		return nil, err
	}
	copies := make([][]byte, m.size)
	for i, p := range parts {
		copies[i] = slices.Clone(p)
	}
	given, err := m.meet(callAllToAll, gift{parts: copies})
	if err != nil {
		return nil, err
	}
	all := make([][]byte, m.size)
	for i, g := range given {
		all[i] = g.parts[m.rank]
	}
	return all, nil
}

func (m *member) AllReduce(values []int64, op team.Op) error {
	c, err := reducing(op)
	if err != nil {
		return err
	}
	given, err := m.meet(c, gift{values: slices.Clone(values)})
	if err != nil {
		return err
	}
	copy(values, given[0].values)
	for _, g := range given[1:] {
		for i, v := range g.values {
			switch op {
			case team.Sum:
				values[i] += v
			case team.Min:
				values[i] = min(values[i], v)
			case team.Max:
				values[i] = max(values[i], v)
			}
		}
	}
	return nil
}

func (m *member) Barrier() error {
	_, err := m.meet(callBarrier, gift{})
	return err
}

func (m *member) Send(to int, data []byte) error {
	if err := checkMember(to, m.size); err != nil {
		return err
	}
	m.hub.mu.Lock()
	defer m.hub.mu.Unlock()
	box := &m.hub.mail[m.rank*m.size+to]
	switch {
	case m.hub.ended != nil:
		return m.hub.ended
	case m.closed:
		return errClosed
	}
	box.messages = append(box.messages, slices.Clone(data))
	m.hub.changed.Broadcast()
	return nil
}

func (m *member) Recv(from int) ([]byte, error) {
	if err := checkMember(from, m.size); err != nil {
		return nil, err
	}
	m.hub.mu.Lock()
	defer m.hub.mu.Unlock()
	box := &m.hub.mail[from*m.size+m.rank]
	for {
		switch {
		case m.hub.ended != nil:
			return nil, m.hub.ended
		case m.closed:
			return nil, errClosed
		case len(box.messages) > 0:
			first := box.messages[0]
			box.messages = box.messages[1:]
			return first, nil
		case box.closed:
			return nil, fmt.Errorf("mpix: member %d has closed, and sends no more messages", from)
		}
		m.hub.changed.Wait()
	}
}

func (m *member) Abort(status int) {
	m.hub.mu.Lock()
	defer m.hub.mu.Unlock()
	m.hub.end(fmt.Errorf("mpix: member %d has ended the job with status %d", m.rank, exitStatus(status)))
}

func (m *member) Close() error {
	h := m.hub
	h.mu.Lock()
	if m.closed {
		h.mu.Unlock()
		return nil
	}
	m.closed = true
	for to := range m.size {
		h.mail[m.rank*m.size+to].closed = true
	}
	h.changed.Broadcast()
	h.mu.Unlock()
	_, err := m.meet(callClose, gift{})
	h.mu.Lock()
	defer h.mu.Unlock()
	for from := range m.size {
		if n := len(h.mail[from*m.size+m.rank].messages); n > 0 && err == nil {
			err = leftOver(from)
		}
	}
	return err
}

func leftOver(from int) error {
	return fmt.Errorf("mpix: a message of member %d has not been received", from)
}
