package structure

import (
	"errors"

	"moriens/analysis/program"
	"moriens/app/question"
	"moriens/internal/hint"
)

// Readings: how the loops of a program are found.
const (
	ByCode   = "code"   // from the machine code of functions, and from the order of lines where that was not read
	ByOrder  = "order"  // from the order of lines
	ByThesis = "thesis" // by the published method: repetitions and the time between them
)

// Readings lists all of them.
func Readings() []string { return []string{ByCode, ByOrder, ByThesis} }

// anewAdvice says how a directory gets readings.
const anewAdvice = "measure the program again, or run moriens analyze on its trace: the calls of all ranks, of which it is made, are not kept"

// readingOf is a reading of a program; "" = the one that there is in any case.
func readingOf(p *program.Program, loops string) (*program.Program, error) {
	switch loops {
	case "":
		return p, nil
	case ByCode:
		if p.Basis == program.ByOrder {
			return nil, hint.With(errors.New("no loops by machine code: that of no function could be read"), "--loops order, or no --loops, shows the program by the order of lines")
		}
		return p, nil
	case ByOrder:
		switch {
		case p.Basis == program.ByOrder:
			return p, nil
		case p.Readings != nil && p.Readings.Order != nil:
			return p.Readings.Order, nil
		case p.Readings != nil && p.Readings.OrderSame:
			return p.ByOrder(), nil
		}
		return nil, hint.With(errors.New("no loops by the order of lines: an earlier version of moriens wrote its program.json"), anewAdvice)
	case ByThesis:
		switch {
		case p.Readings == nil:
			return nil, hint.With(errors.New("no loops by the published method: an earlier version of moriens wrote its program.json"), anewAdvice)
		case p.Readings.Thesis == nil:
			return nil, hint.With(errors.New("no loops by the published method: the times of its calls are not known"), "--loops order does not need them")
		}
		return p.Readings.Thesis.Program, nil
	}
	return nil, question.Misuse(question.Meant(loops, Readings(), "there are code, order and thesis"), "no reading %q", loops)
}
