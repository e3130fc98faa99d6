package window_test

import (
	"bytes"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/agent/window"
	moriensv1 "moriens/proto/moriens/v1"
)

// files are those below a directory, by their paths there.
type files map[string][]byte

func filesIn(t tester, dir string) files {
	t.Helper()
	f := make(files)
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		f[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// write makes a directory of files.
func (f files) write(t tester, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for name, content := range f {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// between calls visit for what may be on disk when a store dies that turns some files into others: it writes logs,
// then the state, then it removes files. Each file may be written in part. It draws some of these moments.
func between(t *rapid.T, was, is files, take func(files)) {
	at := maps.Clone(was)
	visit := func(f files) {
		if rapid.IntRange(0, 5).Draw(t, "then") == 0 {
			take(f)
		}
	}
	isState := func(name string) bool { return strings.HasPrefix(name, "state") }
	for _, state := range []bool{false, true} {
		for _, name := range slices.Sorted(maps.Keys(is)) {
			if isState(name) != state || bytes.Equal(was[name], is[name]) && was[name] != nil {
				continue
			}
			if from, to := len(was[name]), len(is[name]); to > from {
				at[name] = is[name][:rapid.IntRange(from, to-1).Draw(t, "written")]
				visit(at)
			}
			at[name] = is[name]
			visit(at)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if is[name] == nil {
			delete(at, name)
			visit(at)
		}
	}
}

// A store that is killed between any two of its steps, or inside one, goes on with what was committed: nothing is
// there twice, nothing is missing, and what is evicted is counted once. So it does where a transaction was undone
// before.
func TestKilled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := temporary(t)
		defer os.RemoveAll(base)
		dir, again := filepath.Join(base, "windows"), filepath.Join(base, "again")
		bound := rapid.SampledFrom([]int64{5 << 10, 8 << 10, 16 << 10}).Draw(t, "bound")
		var seen []files // whenever the store asks for its bound: between evictions too
		watch := false
		s, err := window.Open(window.Config{Run: run, Dir: dir, Log: quiet, Max: func() int64 {
			if watch {
				seen = append(seen, filesIn(t, dir))
			}
			return bound
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { s.Close() }()
		j := &job{ranks: 2, sends: 10, skip: rapid.SampledFrom([]int{16, 64}).Draw(t, "skip"), slow: rapid.IntRange(9, 40).Draw(t, "slow")}
		if _, err := s.Append(j.introduce()); err != nil {
			t.Fatal(err)
		}
		for _, why := range []moriensv1.Keep_Why{moriensv1.Keep_WHY_UNUSUAL, moriensv1.Keep_WHY_PINNED} {
			k := &moriensv1.Keep{Why: why}
			for range rapid.IntRange(0, 20).Draw(t, "marks") {
				k.Window = append(k.Window, uint64(j.window(rapid.IntRange(0, 80).Draw(t, "marked"))))
			}
			s.Keep(k)
		}
		said := make(map[place]moves)
		transactions := rapid.IntRange(0, 12).Draw(t, "transactions")
		j.play(t, s, 2, transactions, 3, said, nil)
		number := uint64(transactions + 2)
		before := maps.Clone(said)
		x := j.iterate(number, rapid.IntRange(1, 4).Draw(t, "iterations"))
		j.say(x.Moves, said)
		seen = []files{filesIn(t, dir)}
		if rapid.Bool().Draw(t, "the state log is rewritten") {
			if err := s.Compact(); err != nil {
				t.Fatal(err)
			}
			seen = append(seen, filesIn(t, dir))
		}
		rewritten := len(seen)
		watch = true
		for range rapid.IntRange(1, 2).Draw(t, "tries") {
			if len(seen) > rewritten { // the outbox could not keep it
				s.Undo()
				seen = append(seen, filesIn(t, dir))
			}
			if _, err := s.Append(x); err != nil {
				t.Fatal(err)
			}
			seen = append(seen, filesIn(t, dir))
		}
		watch = false
		check := func(committed uint64, want map[place]moves) *window.Store {
			t.Helper()
			s := openAt(t, again, bound, committed)
			holds(t, s, want)
			bounded(t, s, again, bound)
			if s.Failed() != nil || s.Last() != committed {
				t.Fatalf("goes on behind %d, %d are committed, %v", s.Last(), committed, s.Failed())
			}
			return s
		}
		for i := range seen[1:] {
			between(t, seen[i], seen[i+1], func(f files) {
				f.write(t, again)
				check(number-1, before).Close() // and dies again
				s := check(number-1, before)
				if _, err := s.Append(x); err != nil {
					t.Fatal(err)
				}
				holds(t, s, said)
				s.Close()
			})
		}
		seen[len(seen)-1].write(t, again)
		check(number, said).Close()
		check(number, said).Close()
	})
}

// What a damaged file held is counted as evicted, and logged: never is a part of a window taken for the whole.
func TestDamaged(t *testing.T) {
	const bound = 24 << 10
	base := ofTest(t)
	s := openAt(t, base, bound, 0)
	j := &job{ranks: 2, sends: 10, skip: 16}
	if _, err := s.Append(j.introduce()); err != nil {
		t.Fatal(err)
	}
	pins := slices.DeleteFunc(j.names(120), func(w uint64) bool { return w>>16%48 != 0 })
	s.Keep(&moriensv1.Keep{Why: moriensv1.Keep_WHY_PINNED, Window: pins})
	said := make(map[place]moves)
	j.play(t, s, 2, 39, 3, said, nil)
	intact, stats := holds(t, s, said), s.Stats()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	all := filesIn(t, base)
	rapid.Check(t, func(t *rapid.T) {
		dir := temporary(t)
		defer os.RemoveAll(dir)
		f := maps.Clone(all)
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(t, "file")
		f[name] = bytes.Clone(f[name])
		switch at := rapid.IntRange(0, len(f[name])-1).Draw(t, "at"); rapid.SampledFrom([]string{"cut", "changed", "removed"}).Draw(t, "how") {
		case "cut":
			f[name] = f[name][:at]
		case "changed":
			f[name][at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		case "removed":
			delete(f, name)
		}
		f.write(t, dir)
		var logged bytes.Buffer
		config := window.Config{Run: run, Dir: dir, Committed: 40, Log: slog.New(slog.NewTextHandler(&logged, nil)), Max: func() int64 { return bound }}
		s, err := window.Open(config)
		if strings.HasPrefix(name, "state") { // who knows what there was
			if err != nil {
				if !strings.Contains(err.Error(), dir) {
					t.Fatal(err)
				}
				return
			}
			defer s.Close()
			if s.Failed() == nil || !strings.Contains(logged.String(), "state") || len(filesIn(t, dir)) != 1 || len(fetchMoves(t, s)) > 0 {
				t.Fatalf("%v, logged: %s", s.Failed(), logged.String())
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		held := holds(t, s, said)
		lost := 0
		for at := range intact {
			if !held[at] {
				lost++
				if !s.Torn(at.process, at.window) {
					t.Fatalf("%v is not held", at)
				}
			}
		}
		if n := s.Stats().EvictedWindows; lost == 0 || lost == len(intact) || n != stats.EvictedWindows+uint64(lost) ||
			!strings.Contains(logged.String(), filepath.Dir(name)) || strings.Count(logged.String(), "\n") != 1 {
			t.Fatalf("%d of %d windows are lost with %s, %d evicted, logged: %s", lost, len(intact), name, n, logged.String())
		}
		s.Close()
		s = openAt(t, dir, bound, 40)
		defer s.Close()
		if !maps.Equal(holds(t, s, said), held) {
			t.Fatal("the next agent holds others")
		}
		// Later windows are held, in the log's place too.
		later, next := maps.Clone(said), *j
		next.ticks = slices.Clone(j.ticks)
		next.play(t, s, 41, 3, 3, later, nil)
		holds(t, s, later)
	})
}

// Damage that is found only when a log is read, to be fetched or moved, is the same: its windows are gone, the others
// are not.
func TestDamagedLater(t *testing.T) {
	for _, how := range []string{"fetched", "fetched between a transaction and its end", "all is fetched", "evicted"} {
		t.Run(how, func(t *testing.T) {
			dir := ofTest(t)
			bound := int64(1 << 20)
			s, err := window.Open(window.Config{Run: run, Dir: dir, Log: quiet, Max: func() int64 { return bound }})
			if err != nil {
				t.Fatal(err)
			}
			j := &job{ranks: 2, sends: 10, skip: 64}
			if _, err := s.Append(j.introduce()); err != nil {
				t.Fatal(err)
			}
			s.Keep(&moriensv1.Keep{Why: moriensv1.Keep_WHY_UNUSUAL, Window: j.names(200)[:60]})
			said := make(map[place]moves)
			j.play(t, s, 2, 20, 3, said, nil)
			const hit = "ordinary-02/00000001.seg"
			content := filesIn(t, dir)[hit]
			if len(content) == 0 {
				t.Fatal("no window is of that level")
			}
			content[len(content)/2] ^= 1
			if err := os.WriteFile(filepath.Join(dir, hit), content, 0o600); err != nil { // the same file
				t.Fatal(err)
			}
			number := uint64(21)
			switch how {
			case "fetched":
				fetch(t, s, &moriensv1.Fetch{Window: j.names(60)})
			case "fetched between a transaction and its end":
				x := j.iterate(22, 40)
				if _, err := s.Append(x); err != nil {
					t.Fatal(err)
				}
				fetch(t, s, &moriensv1.Fetch{Window: j.names(60)})
				s.Undo()
				if _, err := s.Append(x); err != nil {
					t.Fatal(err)
				}
				j.say(x.Moves, said)
				number++
			case "all is fetched":
				fetchMoves(t, s)
			case "evicted":
				bound = 12 << 10
				j.play(t, s, 22, 1, 3, said, nil)
				number++
			}
			x := j.iterate(number+1, 40) // of which some are of that level, and nothing is moved in any
			j.say(x.Moves, said)
			for _, m := range x.Moves {
				clear(said[place{m.Ring, j.window(int(m.Row) / (j.sends + 1))}])
			}
			x.Moves = nil
			if _, err := s.Append(x); err != nil {
				t.Fatal(err)
			}
			number++
			held := holds(t, s, said)
			torn := 0
			for at := range said {
				if s.Torn(at.process, at.window) {
					torn++
				}
			}
			if torn == 0 || torn > 40 || len(held) == 0 || how != "evicted" && len(held)+torn != len(said) {
				t.Errorf("%d windows are held, %d torn, of %d", len(held), torn, len(said))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openAt(t, dir, bound, number)
			defer s.Close()
			if !maps.Equal(holds(t, s, said), held) || s.Failed() != nil {
				t.Errorf("restarted, others are held, %v", s.Failed())
			}
			j.play(t, s, number+1, 10, 3, said, nil)
			holds(t, s, said)
		})
	}
}
