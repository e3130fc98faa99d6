package rebuild

import (
	"cmp"
	"fmt"
	"slices"

	"moriens/conclude/match"
	"moriens/internal/team"
	"moriens/trace"
)

// draw is collective: it draws the messages of the matching in the run's time, of all members at each, and adds up how
// long calls waited for messages that had not been sent: a call that received several, as long as for the latest.
func draw(u *unpacked, pairs []match.Pair) (messages []trace.Message, lateSenderNS int64, err error) {
	own, done, err := u.draw(u.run, pairs)
	if err != nil {
		return nil, 0, err
	}
	late := make(trace.LateSenders)
	for i, p := range done {
		late.Add(int(p.Thread), int(p.Row), own[i].LateNS)
	}
	sum := []int64{late.TotalNS()}
	if err := u.Team.AllReduce(sum, team.Sum); err != nil {
		return nil, 0, err
	}
	messages, err = u.shareMessages(own)
	return messages, sum[0], err
}

// draw is collective: it draws pairs in a run's time, in the order of the messages, each with the call that completed
// its receive. Only the receivers' calls have to be here.
func (h *Threads) draw(run *trace.Run, pairs []match.Pair) ([]trace.Message, []match.Place, error) {
	sends := make([]match.Place, len(pairs))
	for i, p := range pairs {
		sends[i] = p.Send
	}
	sentNS, err := h.entries(run, sends)
	if err != nil {
		return nil, nil, err
	}
	type drawn struct {
		trace.Message
		match.Pair
	}
	list := make([]drawn, len(pairs))
	for i, p := range pairs {
		to, by := &run.Threads[p.Receive.Thread].Calls, &run.Threads[p.Done.Thread].Calls
		enterNS, exitNS := by.EnterNS[p.Done.Row], by.ExitNS[p.Done.Row]
		list[i] = drawn{trace.Message{
			From: int(p.Send.Thread), To: int(p.Receive.Thread), SendNS: sentNS[i], PhysicalSendNS: sentNS[i],
			RecvNS: to.EnterNS[p.Receive.Row], PhysicalRecvNS: exitNS, Bytes: int64(p.Bytes), Tag: int64(p.Tag),
		}, p}
		list[i].LateNS = list[i].LateIn(enterNS, exitNS)
	}
	slices.SortFunc(list, func(a, b drawn) int {
		return cmp.Or(a.Message.Compare(b.Message), a.Send.Compare(b.Send), a.Receive.Compare(b.Receive), a.Done.Compare(b.Done))
	})
	messages, done := slices.Grow([]trace.Message(nil), len(list)), make([]match.Place, 0, len(list))
	for i := range list {
		messages, done = append(messages, list[i].Message), append(done, list[i].Done)
	}
	return messages, done, nil
}

// entries gives the times of the entries of a run's calls, of whichever member they are.
func (h *Threads) entries(run *trace.Run, of []match.Place) (ns []int64, err error) {
	ns = make([]int64, len(of))
	if h.Team.Size() == 1 {
		for i, p := range of {
			ns[i] = run.Threads[p.Thread].Calls.EnterNS[p.Row]
		}
		return ns, nil
	}
	questions := make([][]int64, h.Team.Size())
	for _, p := range of {
		to := h.Team.Owner(int(p.Thread))
		questions[to] = append(questions[to], int64(p.Thread), int64(p.Row))
	}
	wanted, err := team.Exchange(h.Team, questions)
	if err != nil {
		return nil, err
	}
	answers := make([][]int64, h.Team.Size())
	for from, rows := range wanted {
		for ; len(rows) >= 2; rows = rows[2:] {
			calls := &run.Threads[rows[0]].Calls
			if rows[1] >= int64(calls.Len()) {
				return nil, fmt.Errorf("member %d asks for call %d of thread %d, which has %d", from, rows[1], rows[0], calls.Len())
			}
			answers[from] = append(answers[from], calls.EnterNS[rows[1]])
		}
	}
	replies, err := team.Exchange(h.Team, answers)
	if err != nil {
		return nil, err
	}
	for i, p := range of {
		from := h.Team.Owner(int(p.Thread))
		ns[i], replies[from] = replies[from][0], replies[from][1:]
	}
	return ns, nil
}

// messageWidth is how many numbers a message takes.
const messageWidth = 9

// shareMessages gives all members the messages of each, in the run's order.
func (h *Threads) shareMessages(own []trace.Message) ([]trace.Message, error) {
	if h.Team.Size() == 1 {
		return own, nil
	}
	var list []int64
	for _, m := range own {
		list = append(list, int64(m.From), int64(m.To), m.SendNS, m.PhysicalSendNS, m.RecvNS, m.PhysicalRecvNS, m.Bytes, m.Tag, m.LateNS)
	}
	lists, err := team.Gather(h.Team, list)
	if err != nil {
		return nil, err
	}
	var all []trace.Message
	for _, rows := range lists {
		for ; len(rows) >= messageWidth; rows = rows[messageWidth:] {
			all = append(all, trace.Message{
				From: int(rows[0]), To: int(rows[1]), SendNS: rows[2], PhysicalSendNS: rows[3], RecvNS: rows[4], PhysicalRecvNS: rows[5],
				Bytes: rows[6], Tag: rows[7], LateNS: rows[8],
			})
		}
	}
	slices.SortFunc(all, trace.Message.Compare)
	return all, nil
}
