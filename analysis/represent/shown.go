package represent

import (
	"fmt"
	"slices"
)

// shown has windows for threads of FindOptions.Show that no other shows, as where they have no part in iterations and
// do nothing while those of the windows are: of each one that is there already, else the piece in which it computes
// most.
func (f *finder) shown() {
	var list []int32
	for _, t := range f.o.Show {
		if f.shows(t) || slices.Contains(list, t) {
			continue
		}
		if w := f.richest(t); w != nil {
			f.show(w, t)
		} else {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return
	}
	stretches := f.finer()
	busiest := make([]foremost, len(list))
	for i, t := range list {
		busiest[i] = noneYet
		if f.run.team.Mine(int(t)) {
			busiest[i] = f.run.busiest(stretches, int(t))
		}
	}
	type place struct{ stretch, piece int }
	taken := make(map[place]int) // by where it is: the window
	for i, x := range foremostOf(f.run.team, busiest) {
		if x == noneYet {
			continue // it has no burst
		}
		at := place{}
		at.stretch, at.piece = pieceOf(stretches, x.spot)
		n, there := taken[at]
		if !there {
			s := &stretches[at.stretch]
			w := s.window(f.run, at.piece, at.piece+1)
			w.Why, w.Reason = Fallback, s.name(at.piece, at.piece+1)
			n = len(f.found.Windows)
			taken[at] = n
			f.found.Windows = append(f.found.Windows, w)
		}
		w := &f.found.Windows[n]
		w.ExplainsNS += x.ns
		f.show(w, list[i])
	}
}

// richest is the window with most bursts of the thread, of those that show other threads; nil: none has any.
func (f *finder) richest(thread int32) *Window {
	var best *Window
	most := int32(0)
	for i := range f.found.Windows {
		w := &f.found.Windows[i]
		if n := w.Behind[thread] - w.First[thread]; n > most {
			best, most = w, n
		}
	}
	return best
}

// show has the window show the thread too.
func (f *finder) show(w *Window, thread int32) {
	w.Threads = append(w.Threads, thread)
	w.Reason += fmt.Sprintf("; shows %s, which has nothing in representative windows", f.run.Name.name(int(thread)))
}

// shows reports whether a window that is kept for others shows the thread, as Candidates has it.
func (f *finder) shows(thread int32) bool {
	return slices.ContainsFunc(f.found.Windows, func(w Window) bool {
		has := w.First[thread] < w.Behind[thread]
		return has && (w.Why == Representative || !f.iterates || slices.Contains(w.Threads, thread))
	})
}

// busiest is where the thread computes most: the time, and the first burst of the piece.
func (r *Run) busiest(stretches []stretch, thread int) foremost {
	most := noneYet
	for i := range stretches {
		at := stretches[i].at[thread]
		for u := 1; u < len(at); u++ {
			if at[u-1] == at[u] {
				continue
			}
			x := foremost{spot: spot{thread, at[u-1]}}
			for _, ns := range r.Threads[thread].DurationNS[at[u-1]:at[u]] {
				x.ns += ns
			}
			most.take(x)
		}
	}
	return most
}

// pieceOf finds the piece that begins with a thread's burst: there is one, for busiest has found the burst in the same
// stretches, which are the same at all members.
func pieceOf(stretches []stretch, x spot) (index, piece int) {
	for i := range stretches {
		at := stretches[i].at[x.thread]
		for u := 1; u < len(at); u++ {
			if at[u-1] == x.burst && at[u] > x.burst {
				return i, u - 1
			}
		}
	}
	panic(fmt.Sprintf("represent: no piece begins with burst %d of thread %d", x.burst, x.thread))
}
