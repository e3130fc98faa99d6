package workers_test

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"moriens/analysis/workers"
)

func TestEveryPieceIsDoneOnce(t *testing.T) {
	for _, sizes := range [][]int{nil, {0}, {5}, {1, 1, 1, 1}, {100, 1, 2, 3, 50}, {0, 0, 0}} {
		for _, n := range []int{-1, 0, 1, 2, 8} {
			var mu sync.Mutex
			done := make([]int, len(sizes))
			threads := make([]int, len(sizes))
			if err := workers.Each(sizes, n, func(piece, with int) error {
				mu.Lock()
				defer mu.Unlock()
				done[piece]++
				threads[piece] = with
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(done, func(times int) bool { return times != 1 }) {
				t.Errorf("%v on %d workers: done %v times", sizes, n, done)
			}
			if len(sizes) == 5 && n == 2 && !slices.Equal(threads, []int{2, 1, 1, 1, 2}) {
				t.Errorf("%v on %d workers: threads %v", sizes, n, threads)
			}
		}
	}
}

func TestTheFirstErrorIsReturned(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	done := 0
	var mu sync.Mutex
	err := workers.Each([]int{1, 90, 1, 90}, 2, func(piece, _ int) error {
		mu.Lock()
		defer mu.Unlock()
		done++
		return map[int]error{1: first, 2: second}[piece]
	})
	if err != first || done != 4 {
		t.Errorf("%v after %d pieces", err, done)
	}
}

func TestEveryPieceHasOneWorker(t *testing.T) {
	for _, sizes := range [][]int{nil, {0}, {7, 7}, {1, 100, 1, 50}} {
		for _, n := range []int{-1, 0, 1, 2, 8} {
			var mu sync.Mutex
			done := make([]int, len(sizes))
			workers.Every(sizes, n, func(piece int) {
				mu.Lock()
				defer mu.Unlock()
				done[piece]++
			})
			if slices.ContainsFunc(done, func(times int) bool { return times != 1 }) {
				t.Errorf("%v on %d workers: done %v times", sizes, n, done)
			}
		}
	}
}

// Two pieces of one size are worked at side by side: neither is done before the other has begun.
func TestEverySideBySide(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	workers.Every([]int{5, 5}, 2, func(int) {
		both.Done()
		both.Wait()
	})
}

func TestChunksAreWhole(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 100} {
		for _, count := range []int{-1, 0, 1, 2, 3, 8} {
			ends := make([][2]int, max(1, count))
			workers.Chunks(n, count, func(worker, from, to int) { ends[worker] = [2]int{from, to} })
			at := 0
			for w, end := range ends {
				if end == [2]int{} {
					continue
				}
				if end[0] != at || end[1]-end[0] > n/len(ends)+1 && n > 1 {
					t.Errorf("%d on %d workers: worker %d has %v", n, count, w, end)
				}
				at = end[1]
			}
			if at != n {
				t.Errorf("%d on %d workers: %v", n, count, ends)
			}
		}
	}
}

func TestListsAreComplete(t *testing.T) {
	of := []int32{2, 0, -1, 2, 1, 0, 4, 2, -1, 4, 4}
	want := [][]int32{{1, 5}, {4}, {0, 3, 7}, {}, {6, 9, 10}}
	for _, n := range []int{-1, 0, 1, 2, 3, 8, 20} {
		if got := workers.Lists(len(of), 5, n, func(i int) int32 { return of[i] }); !slices.EqualFunc(got, want, slices.Equal[[]int32]) {
			t.Errorf("%d workers: %v, want %v", n, got, want)
		}
	}
	if got := workers.Lists(0, 2, 3, nil); len(got) != 2 || len(got[0])+len(got[1]) > 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// However many work, each piece is worked at once, and taken in order, with what was filled for it.
func TestPiecesAreTakenInOrder(t *testing.T) {
	for _, pieces := range []int{0, 1, 2, 3, 100, 1000} {
		for _, n := range []int{-1, 0, 1, 2, 8} {
			var begun atomic.Int32
			begin := func() func(piece int, fill *[]int) {
				begun.Add(1)
				return func(piece int, fill *[]int) {
					if piece%3 == 0 {
						runtime.Gosched()
					}
					*fill = append((*fill)[:0], piece, piece*piece)
				}
			}
			var taken []int
			workers.InOrder(pieces, n, begin, func(piece int, filled *[]int) {
				if !slices.Equal(*filled, []int{piece, piece * piece}) {
					t.Errorf("piece %d of %d on %d workers: %v", piece, pieces, n, *filled)
				}
				taken = append(taken, piece)
			})
			if len(taken) != pieces || !slices.IsSorted(taken) || int(begun.Load()) > max(1, min(n, pieces)) {
				t.Errorf("%d pieces on %d workers: taken %v, begun %d times", pieces, n, taken, begun.Load())
			}
		}
	}
}

// A panic at work, and one of the taker, comes out where the pieces were given.
func TestPanicOfPiecesInOrder(t *testing.T) {
	for _, n := range []int{1, 2, 8} {
		for _, of := range []string{"work", "take"} {
			func() {
				defer func() {
					if p := recover(); p != of {
						t.Errorf("%s on %d workers: %v", of, n, p)
					}
				}()
				fail := func(at string, piece int) {
					if at == of && piece == 5 {
						panic(of)
					}
				}
				begin := func() func(int, *int) { return func(piece int, _ *int) { fail("work", piece) } }
				workers.InOrder(100, n, begin, func(piece int, _ *int) { fail("take", piece) })
				t.Errorf("%s on %d workers: no panic", of, n)
			}()
		}
	}
}
