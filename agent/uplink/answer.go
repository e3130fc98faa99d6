package uplink

import moriensv1 "moriens/proto/moriens/v1"

// answersAhead is how many answers may wait to be sent. Each has up to a megabyte.
const answersAhead = 4

// answers are what the collector has asked for on the present stream. They have no sequence and are never sent again:
// if the stream breaks the collector asks once more.
type answers struct {
	queue  []*moriensv1.ReportRequest
	stream uint64                                              // number of the present stream
	asked  func(stream uint64, asks *moriensv1.ReportResponse) // must not block
}

// OnAsk has asked called for each response that asks for something, with the number of its stream. It must be called
// before Run.
func (u *Uplink) OnAsk(asked func(stream uint64, asks *moriensv1.ReportResponse)) {
	u.answers.asked = asked
}

// Answer sends what was asked for on a stream, and waits for room. It reports whether that stream still lives.
func (u *Uplink) Answer(stream uint64, m *moriensv1.ReportRequest) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.answers.stream == stream && len(u.answers.queue) >= answersAhead {
		u.changed.Wait()
	}
	if u.answers.stream != stream {
		return false
	}
	u.answers.queue = append(u.answers.queue, m)
	u.changed.Broadcast()
	return true
}

// renew forgets the answers of streams before, with u.mu held.
func (a *answers) renew() {
	a.queue = nil
	a.stream++
}

// next takes the next answer, with u.mu held.
func (a *answers) next() *moriensv1.ReportRequest {
	m := a.queue[0]
	a.queue = a.queue[1:]
	return m
}

// asks passes on what a response asks for.
func (u *Uplink) asks(stream uint64, r *moriensv1.ReportResponse) {
	if (r.Keep != nil || r.Fetch != nil || r.CellsAsk != nil) && u.answers.asked != nil {
		u.answers.asked(stream, r)
	}
}
