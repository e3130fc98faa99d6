package symbol

import (
	"cmp"
	"debug/elf"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ianlancetaylor/demangle"
)

// maxTable bounds the symbols that are read: bytes of a table in the file.
const maxTable = 256 << 20

// maxName bounds a function's name: templates have longer ones. The exponent of a power of two.
const maxName = 10

// fromSymbols names the functions of queries that have none yet by the nearest symbol below.
func fromSymbols(f *elf.File, read func() ([]elf.Symbol, error), queries []query) {
	if !slices.ContainsFunc(queries, func(q query) bool { return q.place.Function == "" }) {
		return
	}
	symbols := Functions(f, read)
	slices.SortFunc(symbols, func(a, b elf.Symbol) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(rank(b), rank(a)), cmp.Compare(a.Name, b.Name))
	})
	for i := range queries {
		q := &queries[i]
		if q.place.Function != "" {
			continue
		}
		// The last address that is not beyond pc, then the first symbol there.
		at, _ := slices.BinarySearchFunc(symbols, q.pc, func(s elf.Symbol, pc uint64) int {
			if s.Value <= pc {
				return -1
			}
			return 1
		})
		if at == 0 {
			continue
		}
		first := at - 1
		for first > 0 && symbols[first-1].Value == symbols[at-1].Value {
			first--
		}
		for _, s := range symbols[first:at] {
			if q.pc-s.Value < s.Size || s.Size == 0 && sameSection(f, s, q.pc) {
				q.place.Function = symbolName(s.Name)
				break
			}
		}
	}
}

// rank prefers the name that others may link to.
func rank(s elf.Symbol) int {
	switch elf.ST_BIND(s.Info) {
	case elf.STB_GLOBAL:
		return 2
	case elf.STB_WEAK:
		return 1
	}
	return 0
}

// sameSection: a symbol without a size, of hand-written code, ends with its section at the latest.
func sameSection(f *elf.File, s elf.Symbol, pc uint64) bool {
	if int(s.Section) >= len(f.Sections) {
		return false
	}
	section := f.Sections[s.Section]
	return pc >= section.Addr && pc-section.Addr < section.Size
}

// symbolName is the function of a symbol: demangled, and without what compilers append to the names of parts and
// copies.
func symbolName(symbol string) string {
	if name, ok := demangled(symbol); ok {
		return name
	}
	if dot := strings.IndexByte(symbol, '.'); dot > 0 {
		symbol = symbol[:dot]
	}
	return clean(symbol)
}

// demangled knows C++ and Rust, and the modules of gfortran.
func demangled(symbol string) (name string, ok bool) {
	if module, procedure, ok := strings.Cut(strings.TrimPrefix(symbol, "__"), "_MOD_"); ok && strings.HasPrefix(symbol, "__") && module != "" {
		return clean(module + "::" + procedure), true
	}
	name, err := demangle.ToString(symbol, demangle.NoParams, demangle.NoEnclosingParams, demangle.MaxLength(maxName))
	return clean(name), err == nil
}

// clean bounds a name and makes it text.
func clean(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	for len(name) > 1<<maxName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name
}
