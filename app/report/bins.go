package report

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"moriens/trace"
	"moriens/trace/overview"
)

// binsPath is where a page asks for a part of the run that it does not hold call by call.
const binsPath = "/bins"

// More cells than these are never seen at a time: a screen of 8,192 × 4,096 pixels.
const mostBins, mostRows = 8192, 4096

// binner serves bins of a run, one answer at a time: a page that is zoomed asks often, and only needs the last.
type binner struct {
	run *trace.Run
	mu  sync.Mutex
}

func (b *binner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	section, err := b.section(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Context().Err() != nil {
		return // it wants another part by now
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	overview.Part(b.run, section).Write(w) // a client that does not read it to its end has left
}

func (b *binner) section(q url.Values) (s overview.Section, err error) {
	number := func(name string, least, most int64) int64 {
		n, wrong := strconv.ParseInt(q.Get(name), 10, 64)
		if err == nil && (wrong != nil || n < least || n > most) {
			err = fmt.Errorf("%s is %q: want a whole number from %d to %d", name, q.Get(name), least, most)
		}
		return n
	}
	threads := int64(len(b.run.Threads))
	s.First = int(number("first", 0, threads-1))
	s.Last = int(number("last", int64(s.First), threads-1))
	s.BeginNS = number("from", 0, math.MaxInt64-1)
	longest := overview.LongestNS(max(1, s.Last-s.First+1))
	s.EndNS = number("to", s.BeginNS+1, s.BeginNS+min(longest, math.MaxInt64-s.BeginNS))
	s.Rows = int(number("rows", 1, mostRows))
	s.Bins = int(number("bins", 1, mostBins))
	return s, err
}
