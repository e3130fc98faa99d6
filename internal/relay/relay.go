// Package relay is a team whose members communicate through the first one: each sends its contribution to it and gets
// the result of the call back.
//
// In come the contributions of the members to one call of a team (internal/team), by rank; out come their results.
// Bytes come over a network and are checked: what does not fit the call is an error that names the sender's rank.
package relay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"moriens/internal/team"
	moriensv1 "moriens/proto/moriens/v1"
)

// A Call is what a member gives to a call.
type Call struct {
	Op    moriensv1.CellsCall_Op
	Width int // of rows to be merged
	Data  []byte
}

// A Caller makes a member's calls: its result of the call is returned.
type Caller interface {
	Call(c Call) ([]byte, error)
}

// A Member is one of a team of so many.
type Member struct {
	Caller
	Of, Number int // size, rank
}

// Rank implements team.Team.
func (m Member) Rank() int { return m.Number }

// Size implements team.Team.
func (m Member) Size() int { return m.Of }

// AllGather implements team.Team.
func (m Member) AllGather(mine []byte) ([][]byte, error) {
	given, err := m.Call(Call{Op: moriensv1.CellsCall_OP_GATHER, Data: mine})
	if err != nil {
		return nil, err
	}
	return unframe(given, m.Of)
}

// AllToAll implements team.Team.
func (m Member) AllToAll(parts [][]byte) ([][]byte, error) {
	if len(parts) != m.Of {
		return nil, fmt.Errorf("relay: %d parts for %d members", len(parts), m.Of)
	}
	given, err := m.Call(Call{Op: moriensv1.CellsCall_OP_EXCHANGE, Data: frame(parts)})
	if err != nil {
		return nil, err
	}
	return unframe(given, m.Of)
}

// AllReduce implements team.Team.
func (m Member) AllReduce(values []int64, op team.Op) error {
	of := map[team.Op]moriensv1.CellsCall_Op{team.Sum: moriensv1.CellsCall_OP_SUM, team.Min: moriensv1.CellsCall_OP_MIN, team.Max: moriensv1.CellsCall_OP_MAX}[op]
	given, err := m.Call(Call{Op: of, Data: bytesOf(values)})
	if err != nil {
		return err
	}
	made, err := wordsOf(given)
	if err == nil && len(made) != len(values) {
		err = fmt.Errorf("relay: %d values for %d", len(made), len(values))
	}
	copy(values, made)
	return err
}

// Merge implements team.Merger.
func (m Member) Merge(width int, rows []int64) ([]int64, error) {
	given, err := m.Call(Call{Op: moriensv1.CellsCall_OP_MERGE, Width: width, Data: bytesOf(rows)})
	if err != nil {
		return nil, err
	}
	made, err := wordsOf(given)
	if err == nil {
		err = checkRows(width, made)
	}
	return made, err
}

// Combine says what each member is given, of what all have given, by rank. All have to make the call that the first one
// makes. An error is a team.MisfitError.
func Combine(calls []Call) ([][]byte, error) {
	first := &calls[0]
	for rank := range calls {
		if c := &calls[rank]; c.Op != first.Op || c.Width != first.Width {
			return nil, &team.MisfitError{Member: rank, Err: fmt.Errorf("it calls %v of width %d, the first member %v of width %d", c.Op, c.Width, first.Op, first.Width)}
		}
	}
	given := make([][]byte, len(calls))
	var same []byte
	var err error
	switch first.Op {
	case moriensv1.CellsCall_OP_EXCHANGE:
		return exchange(calls)
	case moriensv1.CellsCall_OP_GATHER:
		list := make([][]byte, len(calls))
		for rank := range calls {
			list[rank] = calls[rank].Data
		}
		same = frame(list)
	case moriensv1.CellsCall_OP_MERGE:
		same, err = merge(calls)
	case moriensv1.CellsCall_OP_SUM, moriensv1.CellsCall_OP_MIN, moriensv1.CellsCall_OP_MAX:
		same, err = reduce(calls)
	default:
		err = &team.MisfitError{Member: 0, Err: fmt.Errorf("there is no call %v", first.Op)}
	}
	for rank := range given {
		given[rank] = same
	}
	return given, err
}

func exchange(calls []Call) ([][]byte, error) {
	to := make([][][]byte, len(calls)) // by receiver, by sender
	for rank := range calls {
		parts, err := unframe(calls[rank].Data, len(calls))
		if err != nil {
			return nil, &team.MisfitError{Member: rank, Err: err}
		}
		for i, part := range parts {
			to[i] = append(to[i], part)
		}
	}
	given := make([][]byte, len(calls))
	for rank, parts := range to {
		given[rank] = frame(parts)
	}
	return given, nil
}

func merge(calls []Call) ([]byte, error) {
	tables := make([][]int64, len(calls))
	for rank := range calls {
		var err error
		if tables[rank], err = wordsOf(calls[rank].Data); err == nil {
			err = checkRows(calls[rank].Width, tables[rank])
		}
		if err != nil {
			return nil, &team.MisfitError{Member: rank, Err: err}
		}
	}
	return bytesOf(team.MergeRows(calls[0].Width, tables)), nil
}

// checkRows reports whether rows are whole and ascending, and count something.
func checkRows(width int, rows []int64) error {
	if width < 1 || len(rows)%(width+1) != 0 {
		return fmt.Errorf("%d words are no rows of %d and a count", len(rows), width)
	}
	for at := 0; at < len(rows); at += width + 1 {
		if rows[at+width] < 1 || at > 0 && slices.Compare(rows[at-width-1:at-1], rows[at:at+width]) >= 0 {
			return errors.New("rows do not ascend, or count nothing")
		}
	}
	return nil
}

func reduce(calls []Call) ([]byte, error) {
	var made []int64
	for rank := range calls {
		values, err := wordsOf(calls[rank].Data)
		if err == nil && rank > 0 && len(values) != len(made) {
			err = fmt.Errorf("%d values: want %d", len(values), len(made))
		}
		if err != nil {
			return nil, &team.MisfitError{Member: rank, Err: err}
		}
		if rank == 0 {
			made = values
			continue
		}
		for i, v := range values {
			switch calls[rank].Op {
			case moriensv1.CellsCall_OP_SUM:
				made[i] += v
			case moriensv1.CellsCall_OP_MIN:
				made[i] = min(made[i], v)
			default:
				made[i] = max(made[i], v)
			}
		}
	}
	return bytesOf(made), nil
}

func frame(parts [][]byte) []byte {
	var data []byte
	for _, part := range parts {
		data = append(binary.AppendUvarint(data, uint64(len(part))), part...)
	}
	return data
}

func unframe(data []byte, count int) ([][]byte, error) {
	var parts [][]byte
	for len(data) > 0 {
		n, size := binary.Uvarint(data)
		if size <= 0 || n > uint64(len(data)-size) {
			return nil, errors.New("a part is cut off")
		}
		parts = append(parts, data[size:size+int(n)])
		data = data[size+int(n):]
	}
	if len(parts) != count {
		return nil, fmt.Errorf("%d parts for %d members", len(parts), count)
	}
	return parts, nil
}

func bytesOf(words []int64) []byte {
	data := make([]byte, 0, 8*len(words))
	for _, w := range words {
		data = binary.LittleEndian.AppendUint64(data, uint64(w))
	}
	return data
}

func wordsOf(data []byte) ([]int64, error) {
	if len(data)%8 != 0 {
		return nil, fmt.Errorf("%d bytes are no words of 8", len(data))
	}
	words := make([]int64, len(data)/8)
	for i := range words {
		words[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return words, nil
}
