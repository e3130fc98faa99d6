package team

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// one is Solo that returns what it is given.
type one struct {
	Solo
	raw    [][]byte
	failed int64
}

func (o one) AllGather([]byte) ([][]byte, error) { return o.raw, nil }

func (o one) AllReduce(values []int64, _ Op) error {
	values[0] = max(values[0], o.failed)
	return nil
}

func TestSolo(t *testing.T) {
	mine := []float64{1, -2.5, math.Inf(1)}
	all, err := Gather(Solo{}, mine)
	if err != nil || len(all) != 1 || !slices.Equal(all[0], mine) {
		t.Errorf("gathered %v, %v", all, err)
	}
	all[0][0] = 7
	if mine[0] != 1 {
		t.Error("what was gathered is what was given, not a copy")
	}
	if none, err := Gather(Solo{}, []uint16(nil)); err != nil || len(none) != 1 || len(none[0]) != 0 {
		t.Errorf("gathered %v, %v of nothing", none, err)
	}
	parts, err := Exchange(Solo{}, [][]int32{{3, 4}})
	if err != nil || len(parts) != 1 || !slices.Equal(parts[0], []int32{3, 4}) {
		t.Errorf("exchanged %v, %v", parts, err)
	}
	if _, err := Exchange(Solo{}, [][]int32{{3}, {4}}); err == nil {
		t.Error("two parts for one member")
	}
	sum := []int64{5, -5}
	if err := (Solo{}).AllReduce(sum, Sum); err != nil || !slices.Equal(sum, []int64{5, -5}) {
		t.Errorf("reduced to %v, %v", sum, err)
	}
}

func TestGatherRefusesPartsOfValues(t *testing.T) {
	if got, err := Gather(one{raw: [][]byte{make([]byte, 9)}}, []int64{1}); err == nil {
		t.Errorf("9 bytes are %v", got)
	}
}

func TestAgree(t *testing.T) {
	own := errors.New("own")
	for _, tt := range []struct {
		elsewhere int64
		err, want error
	}{{0, nil, nil}, {0, own, own}, {1, own, own}, {1, nil, ErrElsewhere}} {
		if got := Agree(one{failed: tt.elsewhere}, tt.err); !errors.Is(got, tt.want) || (got == nil) != (tt.want == nil) {
			t.Errorf("%v here and %d elsewhere: %v, want %v", tt.err, tt.elsewhere, got, tt.want)
		}
	}
}
