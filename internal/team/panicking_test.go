package team

import (
	"errors"
	"strings"
	"testing"
)

// gone is a team that is lost.
type gone struct{ Solo }

var errGone = errors.New("gone")

func (gone) AllReduce([]int64, Op) error { return errGone }

func TestPanicking(t *testing.T) {
	work := func(with Team) (sum int64, err error) {
		defer Leave("work", &err)
		c := Panicking{Threads{Team: with}}
		if !c.Alone() {
			t.Error("a team of one is not alone")
		}
		list := Must(Gather(c, []int64{2}))
		c.Reduce(Sum, list[0])
		return list[0][0], nil
	}
	if sum, err := work(Solo{}); sum != 2 || err != nil {
		t.Errorf("%d, %v", sum, err)
	}
	if _, err := work(gone{}); !errors.Is(err, errGone) || !strings.HasPrefix(err.Error(), "work: ") {
		t.Errorf("%v", err)
	}
	defer func() {
		if p := recover(); p != "a fault" {
			t.Errorf("a fault in the work of a team is %v", p)
		}
	}()
	func() (err error) {
		defer Leave("work", &err)
		panic("a fault")
	}()
}
