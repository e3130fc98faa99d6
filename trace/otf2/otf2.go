// Package otf2 writes a trace.Run as an OTF2 archive (Vampir, Scalasca, Pipit): a location for each thread, regions for
// MPI calls and for the clusters of bursts, metrics for counters, messages and collectives with communicators, and call
// paths as calling contexts. Times are the model's nanoseconds. docs/format/otf2.md describes the archive.
//
// Writing archives needs the build tag otf2, with cgo and libotf2: the program moriens-otf2. The rest of the package is
// plain Go: the definitions, and the order of a thread's events (stream).
package otf2

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"

	"moriens/internal/hint"
	"moriens/trace"
)

// Name is what the anchor file of an archive is called, without its ending: readers look for it.
const Name = "traces"

// A Loss counts what regions, which nest, cannot show.
type Loss struct {
	Bursts int // that begin or end inside an MPI call, and outside of it the other way
	// Messages that are received no later than they are sent, because too many events lie at one time.
	Messages int
}

// Write makes the directory dir, which must not exist, with the archive of the run in it. On an error it
// leaves what it has written.
func Write(run *trace.Run, dir, creator string) (Loss, error) {
	var loss Loss
	if err := available(); err != nil {
		return loss, err
	}
	if err := check(run); err != nil {
		return loss, err
	}
	if err := os.Mkdir(dir, 0o777); errors.Is(err, os.ErrExist) {
		return loss, hint.With(fmt.Errorf("%s exists", dir), "name a directory that does not exist: archives are never overwritten")
	} else if err != nil {
		return loss, err
	}
	p, err := planMessages(run)
	if err != nil {
		return loss, err
	}
	loss.Messages = p.reversed
	d := define(run, p)
	out, err := open(dir, creator)
	if err != nil {
		return loss, err
	}
	err = writeLocations(run, d, p, out, &loss)
	if err == nil {
		err = out.define(d)
	}
	if err := cmp.Or(err, out.close()); err != nil {
		return loss, err
	}
	return loss, out.verify(dir, d)
}

// writeLocations writes the events of one location after the other, so that only one is in memory.
func writeLocations(run *trace.Run, d *definitions, p *plan, out *archive, loss *Loss) error {
	ends := d.messageEnds(run)
	for i := range d.locations {
		l := &d.locations[i]
		if err := out.begin(l.id); err != nil {
			return err
		}
		if l.thread >= 0 {
			s := newStream(run, d, l.thread, ends, p, func(e event, _ int64) error { return out.event(e) })
			if err := s.write(); err != nil {
				return fmt.Errorf("%s: %w", run.Threads[l.thread].Name(), err)
			}
			loss.Bursts += s.straddling
			d.durationNS = max(d.durationNS, s.out.lastNS)
		}
		events, err := out.end()
		if err != nil {
			return err
		}
		l.events = events
	}
	return nil
}

// check finds what the format cannot hold, or what would not be a run.
func check(run *trace.Run) error {
	if len(run.Counters) > math.MaxUint8 {
		return fmt.Errorf("%d counters; OTF2 allows %d together", len(run.Counters), math.MaxUint8)
	}
	for i := range run.Threads {
		t := &run.Threads[i]
		where := t.Name()
		if t.World < 0 || t.World >= len(run.Worlds) || t.Rank < 0 || t.Rank >= run.Worlds[t.World].Size {
			return fmt.Errorf("%s: no such rank", where)
		}
		last := t.BeginNS
		if last < 0 {
			return fmt.Errorf("%s begins at %d ns, before time 0", where, last)
		}
		for k, enter := range t.Calls.EnterNS {
			if enter < last || t.Calls.ExitNS[k] < enter {
				return fmt.Errorf("%s: call %d (%d to %d ns) is out of order", where, k, enter, t.Calls.ExitNS[k])
			}
			last = t.Calls.ExitNS[k]
		}
		last = t.BeginNS
		for k, start := range t.Bursts.StartNS {
			if start < last || t.Bursts.DurationNS[k] < 0 {
				return fmt.Errorf("%s: burst %d (at %d ns, of %d ns) is out of order", where, k, start, t.Bursts.DurationNS[k])
			}
			last = start + t.Bursts.DurationNS[k]
		}
	}
	for i, m := range run.Messages {
		if m.From < 0 || m.From >= len(run.Threads) || m.To < 0 || m.To >= len(run.Threads) {
			return fmt.Errorf("message %d: no such thread", i)
		}
		if min(m.SendNS, m.RecvNS, m.PhysicalRecvNS) < 0 {
			return fmt.Errorf("message %d: before time 0", i)
		}
	}
	return nil
}
