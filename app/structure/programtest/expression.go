package programtest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// variables have values while an expression is evaluated.
type variables map[string]int64

// An expression of integers: arithmetic, where % and mod are never negative, ^ (exclusive or), comparisons, && and ||.
// A truth is 1 or 0.
type expression struct {
	text string
	eval func(v variables) (int64, error)
	uses map[string]bool // variables
}

// holds says whether an expression is true; what cannot be evaluated is not.
func (e *expression) holds(v variables) bool {
	x, err := e.eval(v)
	return err == nil && x != 0
}

type parser struct {
	tokens []string
	uses   map[string]bool
}

func parse(text string) (*expression, error) {
	tokens, err := scan(text)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	p := &parser{tokens: tokens, uses: make(map[string]bool)}
	eval, err := p.binary(0)
	if err == nil && len(p.tokens) > 0 {
		err = fmt.Errorf("%q is left", strings.Join(p.tokens, " "))
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return &expression{text, eval, p.uses}, nil
}

func scan(text string) (tokens []string, err error) {
	for i := 0; i < len(text); {
		c := rune(text[i])
		end := i + 1
		switch {
		case c == ' ':
			i++
			continue
		case unicode.IsDigit(c):
			for end < len(text) && unicode.IsDigit(rune(text[end])) {
				end++
			}
		case c < 128 && unicode.IsLetter(c):
			for end < len(text) && text[end] < 128 && unicode.IsLetter(rune(text[end])) {
				end++
			}
		case end < len(text) && strings.Contains(" == != <= >= && || ", " "+text[i:end+1]+" "):
			end++
		case !strings.ContainsRune("+-*/%^()<>", c):
			return nil, fmt.Errorf("%q is no operator", c)
		}
		tokens = append(tokens, text[i:end])
		i = end
	}
	return tokens, nil
}

// operators are those of two operands, the weakest first.
var operators = [][]string{
	{"||", "or"}, {"&&", "and"}, {"==", "!=", "<", "<=", ">", ">="}, {"^", "xor"}, {"+", "-"}, {"*", "/", "%", "mod"},
}

func (p *parser) next(options []string) string {
	if len(p.tokens) > 0 {
		for _, o := range options {
			if p.tokens[0] == o {
				p.tokens = p.tokens[1:]
				return o
			}
		}
	}
	return ""
}

func (p *parser) binary(level int) (func(variables) (int64, error), error) {
	if level == len(operators) {
		return p.operand()
	}
	left, err := p.binary(level + 1)
	if err != nil {
		return nil, err
	}
	for {
		op := p.next(operators[level])
		if op == "" {
			return left, nil
		}
		right, err := p.binary(level + 1)
		if err != nil {
			return nil, err
		}
		first := left
		left = func(v variables) (int64, error) {
			a, err := first(v)
			if err != nil {
				return 0, err
			}
			b, err := right(v)
			if err != nil {
				return 0, err
			}
			return apply(op, a, b)
		}
	}
}

func apply(op string, a, b int64) (int64, error) {
	truth := func(t bool) (int64, error) {
		if t {
			return 1, nil
		}
		return 0, nil
	}
	switch op {
	case "||", "or":
		return truth(a != 0 || b != 0)
	case "&&", "and":
		return truth(a != 0 && b != 0)
	case "==":
		return truth(a == b)
	case "!=":
		return truth(a != b)
	case "<":
		return truth(a < b)
	case "<=":
		return truth(a <= b)
	case ">":
		return truth(a > b)
	case ">=":
		return truth(a >= b)
	case "^", "xor":
		return a ^ b, nil
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	}
	if b <= 0 {
		return 0, fmt.Errorf("%d %s %d", a, op, b)
	}
	rest := (a%b + b) % b
	if op == "/" {
		return (a - rest) / b, nil
	}
	return rest, nil
}

func (p *parser) operand() (func(variables) (int64, error), error) {
	if len(p.tokens) == 0 {
		return nil, fmt.Errorf("an operand is missing")
	}
	token := p.tokens[0]
	p.tokens = p.tokens[1:]
	switch {
	case token == "(":
		inner, err := p.binary(0)
		if err == nil && p.next([]string{")"}) == "" {
			err = fmt.Errorf(") is missing")
		}
		return inner, err
	case token == "-":
		inner, err := p.operand()
		if err != nil {
			return nil, err
		}
		return func(v variables) (int64, error) {
			x, err := inner(v)
			return -x, err
		}, nil
	case unicode.IsDigit(rune(token[0])):
		n, err := strconv.ParseInt(token, 10, 64)
		return func(variables) (int64, error) { return n, nil }, err
	case unicode.IsLetter(rune(token[0])):
		p.uses[token] = true
		return func(v variables) (int64, error) {
			if x, ok := v[token]; ok {
				return x, nil
			}
			return 0, fmt.Errorf("there is no %s", token)
		}, nil
	}
	return nil, fmt.Errorf("%q is no operand", token)
}

// peersOf reads what a text says of peers: for a rank, the ranks that it names, of those that there are. ok = false: it
// is none that can be evaluated.
func peersOf(text string, size int64) (peers func(rank int64) map[int64]bool, ok bool) {
	one := func(v variables, e *expression, to map[int64]bool) {
		if x, err := e.eval(v); err == nil && x >= 0 && x < size {
			to[x] = true
		}
	}
	known := map[string]bool{"rank": true, "size": true, "rows": true, "columns": true, "edge": true}
	read := func(text string) (*expression, bool) {
		e, err := parse(strings.TrimSpace(text))
		if err != nil {
			return nil, false
		}
		for name := range e.uses {
			if !known[name] {
				return nil, false
			}
		}
		return e, true
	}
	list, isList := strings.CutPrefix(text, "each of ")
	if peer := inWords(text, size); peer != nil {
		return peer, true
	}
	if !isList {
		e, ok := read(text)
		return func(rank int64) map[int64]bool {
			set := make(map[int64]bool)
			one(shape(rank, size), e, set)
			return set
		}, ok
	}
	var parts [][2]*expression
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "..")
		if !isRange {
			last = first
		}
		a, okA := read(first)
		b, okB := read(last)
		if !okA || !okB {
			return nil, false
		}
		parts = append(parts, [2]*expression{a, b})
	}
	return func(rank int64) map[int64]bool {
		set := make(map[int64]bool)
		for _, p := range parts {
			v := shape(rank, size)
			a, errA := p[0].eval(v)
			b, errB := p[1].eval(v)
			if errA != nil || errB != nil {
				continue
			}
			for x := max(a, 0); x <= min(b, size-1); x++ {
				set[x] = true
			}
		}
		return set
	}, true
}

// What texts say in words of peers.
var (
	inGrid    = regexp.MustCompile(`^([+-]1) in dimension (\d) of (\d+(?:×\d+)+)(, periodic)?(?:, or none)?$`)
	transpose = regexp.MustCompile(`^transpose of (\d+)×\d+(?:, or none)?$`)
)

// inWords reads what a text says in words: for a rank its neighbour in a grid of all ranks, whose last dimension has
// ranks in a row, or the rank with row and column exchanged. nil: it is no such text.
func inWords(text string, size int64) func(rank int64) map[int64]bool {
	if m := transpose.FindStringSubmatch(text); m != nil {
		edge := digits(m[1])
		return func(rank int64) map[int64]bool { return map[int64]bool{rank%edge*edge + rank/edge: true} }
	}
	m := inGrid.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	step, dimension, periodic := digits(m[1]), int(digits(m[2])), m[4] != ""
	stride, length, all := int64(1), int64(0), int64(1)
	for k, n := range strings.Split(m[3], "×") {
		all *= digits(n)
		if k == dimension {
			length = digits(n)
		} else if k > dimension {
			stride *= digits(n)
		}
	}
	if length == 0 || all != size {
		return nil
	}
	return func(rank int64) map[int64]bool {
		at := rank / stride % length
		to := at + step
		if periodic {
			to = (to + length) % length
		}
		if to < 0 || to >= length {
			return nil
		}
		return map[int64]bool{rank + (to-at)*stride: true}
	}
}

// digits is the number that a regular expression has found.
func digits(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// shape has the variables of a rank: rows and columns are those of MPI_Dims_create in two dimensions, edge is that of
// the largest square of ranks.
func shape(rank, size int64) variables {
	columns, edge := int64(1), int64(1)
	for k := int64(1); k*k <= size; k++ {
		edge = k
		if size%k == 0 {
			columns = k
		}
	}
	return variables{"rank": rank, "size": size, "rows": size / columns, "columns": columns, "edge": edge}
}

func keys(set map[int64]bool) []int64 { return slices.Sorted(maps.Keys(set)) }
