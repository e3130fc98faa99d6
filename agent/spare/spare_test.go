package spare

import "testing"

func TestList(t *testing.T) {
	var l List[int]
	if l.Take() != nil {
		t.Error("something of nothing")
	}
	given := make([]int, 2*most)
	for i := range given {
		l.Put(&given[i])
	}
	for i := most - 1; i >= 0; i-- {
		if m := l.Take(); m != &given[i] {
			t.Fatalf("message %d is not what was put", i)
		}
	}
	if l.Take() != nil {
		t.Error("more than are kept")
	}
}
