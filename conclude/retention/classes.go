package retention

import (
	"slices"

	"moriens/analysis/represent"
	"moriens/conclude/levels"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/rundir"
)

// namer names the threads of a run as people do.
func namer(run *trace.Run) []string {
	names := make([]string, len(run.Threads))
	for i := range run.Threads {
		names[i] = rundir.NameOf(&run.Threads[i]).Short(len(run.Worlds) > 1)
	}
	return names
}

// grouped are threads in classes.
type grouped struct {
	classes *represent.Classes
	bursts  []int // of each thread; nil = not known
}

// classify groups the threads by what they have done in sum, and by who waited for whom at meetings.
func (r *Reduction) classify(run *trace.Run, o Options) (*grouped, error) {
	calls := len(run.Clusters) + 1 // after the clusters, the first of which is none
	bytes := calls + int(represent.OtherCalls) + 1
	ofKinds := slices.ContainsFunc(run.Clusters, func(x trace.Cluster) bool { return x.Known() })
	ranks := represent.Ranks{
		Name: r.name, Quantities: quantities(calls, ofKinds, represent.SentBytes, represent.ReceivedBytes, represent.CausedNS, represent.SufferedNS),
	}
	paths := make([]represent.CallClass, len(run.CallPaths))
	for i := range run.CallPaths {
		paths[i] = CallClass(run.CallPaths[i].Function)
	}
	causedNS, sufferedNS, err := r.atCollectives(run)
	if err != nil {
		return nil, err
	}
	messageSent, messageReceived, err := movedByMessages(run, r.owners)
	if err != nil {
		return nil, err
	}
	if run.Traffic != nil {
		messageSent, messageReceived = movedInSum(run)
	}
	rows := make([][]float64, len(run.Threads))
	for i := range run.Threads {
		t := &run.Threads[i]
		row := make([]float64, len(ranks.Quantities)+1)
		kinds := t.Bursts.Kinds()
		for k, d := range t.Bursts.DurationNS {
			row[max(kinds[k], 0)] += float64(d)
		}
		for k, path := range t.Calls.Path {
			row[calls+int(paths[path])] += float64(t.Calls.ExitNS[k] - t.Calls.EnterNS[k])
		}
		sent, received := moved(t, run.Traffic == nil)
		row[bytes], row[bytes+1] = float64(sent+messageSent[i]), float64(received+messageReceived[i])
		row[bytes+2], row[bytes+3] = float64(causedNS[i]), float64(sufferedNS[i])
		row[len(row)-1] = float64(t.Bursts.Len()) // for people alone: threads are not compared by it
		rows[i] = row
	}
	if rows, err = team.ByThread(r.owners, rows); err != nil {
		return nil, err
	}
	bursts := make([]int, len(rows))
	for i, row := range rows {
		last := len(row) - 1
		ranks.Values = append(ranks.Values, row[:last]...)
		bursts[i] = int(row[last])
	}
	classes, err := represent.Classify(ranks, represent.ClassOptions{Outliers: o.Outliers, Workers: o.Workers})
	if err != nil {
		return nil, err
	}
	return &grouped{classes, bursts}, nil
}

// moved is how many bytes a thread has sent and received, by transfers only where these are all.
func moved(t *trace.Thread, transfers bool) (sent, received int64) {
	for k, n := range t.Transfers.Bytes {
		switch {
		case !transfers:
		case t.Transfers.Kind[k].Outgoing():
			sent += n
		default:
			received += n
		}
	}
	for k := range t.Collectives.Call {
		if t.Collectives.Started(k) {
			continue
		}
		sent += t.Collectives.Sent[k]
		received += t.Collectives.Received[k]
	}
	return sent, received
}

// movedInSum is how many bytes each thread has sent and received by the sums of its rank, which its threads share
// evenly.
func movedInSum(run *trace.Run) (sent, received []int64) {
	sent, received = make([]int64, len(run.Threads)), make([]int64, len(run.Threads))
	of := make(map[[2]int][]int)
	for i := range run.Threads {
		key := [2]int{run.Threads[i].World, run.Threads[i].Rank}
		of[key] = append(of[key], i)
	}
	for i := range run.Traffic.Ranks {
		r := &run.Traffic.Ranks[i]
		threads := of[[2]int{r.World, r.Rank}]
		for _, x := range r.Sites {
			for _, thread := range threads {
				if share := x.Bytes / int64(len(threads)); x.Kind.Outgoing() {
					sent[thread] += share
				} else {
					received[thread] += share
				}
			}
		}
	}
	return sent, received
}

// movedByMessages is how many bytes each thread has sent and received in messages, where these alone are known: a
// Paraver trace of another tool does not say what calls move. Else it is 0, for messages are the transfers of their
// calls.
func movedByMessages(run *trace.Run, owners team.Threads) (sent, received []int64, err error) {
	sent, received = make([]int64, len(run.Threads)), make([]int64, len(run.Threads))
	only, err := levels.OnlyMessages(run, owners)
	if err != nil || !only {
		return sent, received, err
	}
	for i := range run.Messages {
		m := &run.Messages[i]
		sent[m.From] += m.Bytes
		received[m.To] += m.Bytes
	}
	return sent, received, nil
}

// A ThreadSum is what a thread has done in sum.
type ThreadSum struct {
	ClusterNS      []int64 // by cluster; the first is of the bursts in none
	CallNS         [represent.OtherCalls + 1]int64
	Sent, Received int64 // bytes
}

// ClassifySums groups threads by their sums, all of them by as many clusters, which stand for kinds if ofKinds.
func ClassifySums(threads []ThreadSum, clusters int, ofKinds bool, name represent.Namer, o Options) (*represent.Classes, error) {
	ranks := represent.Ranks{Name: name, Quantities: quantities(clusters, ofKinds, represent.SentBytes, represent.ReceivedBytes)}
	for i := range threads {
		t := &threads[i]
		for _, ns := range t.ClusterNS {
			ranks.Values = append(ranks.Values, float64(ns))
		}
		for _, ns := range t.CallNS {
			ranks.Values = append(ranks.Values, float64(ns))
		}
		ranks.Values = append(ranks.Values, float64(t.Sent), float64(t.Received))
	}
	return represent.Classify(ranks, represent.ClassOptions{Outliers: o.Outliers, Workers: o.Workers})
}

// quantities are the time in each of so many clusters, the first of which is none, that in each class of calls, and
// others.
func quantities(clusters int, ofKinds bool, others ...represent.Kind) (list []represent.Quantity) {
	for k := range clusters {
		list = append(list, represent.Quantity{Kind: represent.ComputeNS, Cluster: int32(k), OfKind: ofKinds})
	}
	for class := represent.PointToPoint; class <= represent.OtherCalls; class++ {
		list = append(list, represent.Quantity{Kind: represent.CallNS, Class: class})
	}
	for _, kind := range others {
		list = append(list, represent.Quantity{Kind: kind})
	}
	return list
}
