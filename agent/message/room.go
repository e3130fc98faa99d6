package message

const (
	// requestBytes is what a request under way takes in memory, at the most.
	requestBytes = 448
	// leastRequests may be under way on a node, however little memory it has.
	leastRequests = 1 << 17
	// unfollowedShare is how many requests that are not followed may be remembered for one that could be.
	unfollowedShare = 8
)

// A Room is for the requests that are under way in all processes of a node. It is not for concurrent use.
type Room struct {
	limit, taken int
}

// NewRoom returns a Room that takes so much memory, or what the least number of requests takes.
func NewRoom(bytes uint64) *Room {
	return &Room{limit: int(max(bytes/requestBytes, leastRequests))}
}

// Share has a Matcher share a Room with others. What it follows already counts.
func (m *Matcher) Share(room *Room) {
	held := m.requests.open + m.fast.open + m.probed
	m.room.taken -= held
	m.room = room
	room.taken += held
	m.requests.room = room
}

// unfollowed are the requests of one handle for which there was no room. Nothing but their ends is waited for, so that
// these are not taken for those of others.
type unfollowed struct {
	ends       uint32 // outstanding
	persistent bool   // one of them has the handle until it is freed
}

// crowded reports whether a request cannot be followed: there is no room for it, or one of the same handle is not
// followed.
func (m *Matcher) crowded(handle uint64) bool {
	_, there := m.unfollowed[handle]
	return there || m.room.taken >= m.room.limit
}

// passOver gives up a request that cannot be followed, and those that have its handle; where even that would be too
// many to remember, all that is under way.
func (m *Matcher) passOver(t *Thread, e *event, r *request) {
	u := m.unfollowed[e.handle]
	u.add(m, r)
	if q := m.requests.queues[e.handle]; q != nil {
		for i := range q.list {
			u.add(m, &q.list[i])
		}
		m.requests.clear(q)
	}
	m.unfollowed[e.handle] = u
	if len(m.unfollowed) > unfollowedShare*max(m.room.limit, leastRequests) {
		m.forget()
		t.gapInside(e.row)
	}
}

func (u *unfollowed) add(m *Matcher, r *request) {
	m.stats.Unfollowed++
	m.leaveAll(r)
	if r.persistent {
		u.persistent = true
	} else {
		u.ends++
	}
}

// endUnfollowed reports whether what ended is a request that is not followed.
func (m *Matcher) endUnfollowed(e *event) bool {
	u, there := m.unfollowed[e.handle]
	switch {
	case !there:
		return false
	case u.ends > 0:
		u.ends--
	case e.what == freed:
		u.persistent = false
	}
	if u == (unfollowed{}) {
		delete(m.unfollowed, e.handle)
	} else {
		m.unfollowed[e.handle] = u
	}
	return true
}
