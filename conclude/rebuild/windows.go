package rebuild

import (
	"slices"

	"moriens/collector/store"
	"moriens/conclude/match"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// With is collective: it gives a run the transfers of windows that were fetched, by ring, which calls completed their
// collectives, and the messages of which both sides are there, at whichever member.
func (r *Rebuilt) With(run *trace.Run, fetched map[*store.Ring][]*store.Detail) (*trace.Run, error) {
	with := *run
	with.Threads = slices.Clone(run.Threads)
	ordinals := make(match.Ordinals)
	chunks := make([][]store.Transfers, len(r.Rings))
	for _, i := range r.Own {
		for _, t := range fetched[r.Rings[i]] {
			chunks[i] = append(chunks[i], t.Transfers)
			r.addOrdinals(ordinals, i, t)
		}
		with.Threads[i].Transfers = transfers(r.comms, r.ProcessOf[i], chunks[i])
	}
	r.complete(&with, r.comms, func(i int) []store.Transfers { return chunks[i] })
	pairs, err := ordinals.Match(r.Team, r.forMatching())
	if err != nil {
		return &with, err
	}
	own, _, err := r.draw(&with, pairs)
	if err == nil {
		with.Messages, err = r.shareMessages(own)
	}
	if run.Traffic != nil { // these windows were not chosen by chance
		traffic := *run.Traffic
		traffic.Sample, traffic.Compared, with.Traffic = nil, nil, &traffic
	}
	return &with, err
}

// addOrdinals adds the sends and receives of a part of a window of which the ordinals are known.
func (r *Rebuilt) addOrdinals(to match.Ordinals, thread int, t *store.Detail) {
	of := r.ProcessOf[thread]
	p := &r.Processes[of]
	if p.TransfersEnd.GetOrdinalsVoid() {
		return
	}
	for i := range t.Len() {
		if t.Kind[i] == met {
			continue
		}
		ordinal := t.OrdinalOf(i)
		member, known := r.comms.member(of, t.Comm[i])
		if ordinal == 0 || t.Done[i] < 0 && t.Kind[i] != uint8(moriensv1.Transfers_KIND_SENT) || !known {
			continue
		}
		peer := r.comms.peer(of, t.Comm[i], t.Peer[i])
		if peer.process < 0 {
			continue
		}
		o := match.Posting{
			Thread: int32(thread), DoneThread: int32(thread), Row: t.Row[i], DoneRow: t.Done[i], Bytes: t.Bytes[i], Ordinal: ordinal,
		}
		if ring := t.DoneRing[i]; ring != nil {
			o.DoneThread = int32(r.threadOf[ring])
		}
		key := match.Stream{Comm: member.Info.Id, From: int32(of), To: int32(peer.process), Tag: t.Tag[i], Channel: -1}
		send := t.Kind[i] == uint8(moriensv1.Transfers_KIND_SENT)
		if !send {
			key.From, key.To = key.To, key.From
		}
		to.Add(key, send, o)
	}
}
