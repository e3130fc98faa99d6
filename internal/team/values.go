package team

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
)

// Values is collective: it returns, by rank, what every member gives, of any type that encoding/gob can carry: lists
// without elements may come back nil. In a team of one that is the argument.
func Values[T any](t Team, mine T) ([]T, error) {
	if t.Size() == 1 {
		return []T{mine}, nil
	}
	raw, wrong := encode(mine)
	all, err := t.AllGather(raw)
	if err := errors.Join(wrong, err); err != nil {
		return nil, err
	}
	return decodeAll[T](all)
}

// FirstByThread is ByThread for the first member alone; what it returns at others is the argument.
func FirstByThread[T Plain](t Threads, lists [][]T) ([][]T, error) {
	if t.Size() == 1 {
		return lists, nil
	}
	lengths, values := make([][]int64, t.Size()), make([][]T, t.Size())
	for i, list := range lists {
		if t.Mine(i) {
			lengths[0] = append(lengths[0], int64(len(list)))
			values[0] = append(values[0], list...)
		}
	}
	allLengths, err := Exchange(t, lengths)
	if err != nil {
		return nil, err
	}
	allValues, err := Exchange(t, values)
	if err != nil || t.Rank() != 0 {
		return lists, err
	}
	return apart(t, len(lists), allLengths, allValues)
}

// First is collective: the first member does work, and all get what that returns. An error of it is an error of all,
// with the same text.
func First[T any](t Team, work func() (T, error)) (T, error) {
	if t.Size() == 1 {
		return work()
	}
	var made T
	var raw []byte // a byte for how it went, then the value or the error's text
	var wrong error
	if t.Rank() == 0 {
		if made, wrong = work(); wrong == nil {
			raw, wrong = encode(made)
		}
		if wrong == nil {
			raw = append([]byte{done}, raw...)
		} else {
			raw = append([]byte{failed}, wrong.Error()...)
		}
	}
	all, err := t.AllGather(raw)
	if err := errors.Join(wrong, err); err != nil || t.Rank() == 0 {
		return made, err
	}
	switch raw = all[0]; {
	case len(raw) == 0:
		return made, ErrElsewhere
	case raw[0] == failed:
		return made, errors.New(string(raw[1:]))
	}
	return decode[T](raw[1:])
}

const (
	done byte = iota
	failed
)

// Any is collective: it reports whether a thing is so at any member.
func Any(t Team, so bool) (bool, error) {
	count := []int64{0}
	if so {
		count[0] = 1
	}
	err := t.AllReduce(count, Max)
	return count[0] != 0, err
}

// Explain is Agree, and says at all members what is wrong: at those without an error of their own, what the first has
// that has one.
func Explain(t Team, err error) error {
	if t.Size() == 1 {
		return err
	}
	var text []byte
	if err != nil {
		text = []byte("!" + err.Error()) // an error may have no text
	}
	all, lost := t.AllGather(text)
	if err := errors.Join(err, lost); err != nil {
		return err
	}
	for rank, text := range all {
		if len(text) > 0 {
			return &ExplainedError{rank, string(text[1:])}
		}
	}
	return nil
}

// An ExplainedError is what is wrong at another member.
type ExplainedError struct {
	Member int // its rank
	Text   string
}

func (e *ExplainedError) Error() string {
	return fmt.Sprintf("member %d of the team: %s", e.Member, e.Text)
}

func encode[T any](value T) ([]byte, error) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(&value); err != nil {
		return nil, fmt.Errorf("team: %w", err)
	}
	return b.Bytes(), nil
}

func decode[T any](raw []byte) (value T, err error) {
	if err = gob.NewDecoder(bytes.NewReader(raw)).Decode(&value); err != nil {
		err = fmt.Errorf("team: %w", err)
	}
	return value, err
}

func decodeAll[T any](all [][]byte) ([]T, error) {
	list := make([]T, len(all))
	for i, raw := range all {
		var err error
		if list[i], err = decode[T](raw); err != nil {
			return nil, err
		}
	}
	return list, nil
}
