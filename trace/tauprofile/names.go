package tauprofile

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"moriens/trace/calltree"
)

// Root is the name of the root.
const Root = ".TAU application"

// Names are the names of the tree's nodes in rows. A phase is named by its path and ends in " phase", iterations are
// named by their path, a function of MPI ends in "()". Different things have different names.
func Names(t *calltree.Tree) []string {
	keys := make([]calltree.Key, len(t.Nodes))
	for i := range t.Nodes {
		keys[i] = t.Nodes[i].Key()
		if t.Nodes[i].Phased() {
			keys[i].Name = t.PhasePath(int32(i))
		}
	}
	return calltree.Distinct(keys, func(k calltree.Key) string {
		name := clean(k.Name)
		switch {
		case k.Type == calltree.Program:
			return Root
		case k.Type == calltree.Phase && !strings.HasSuffix(name, " phase"):
			return name + " phase"
		case k.Type == calltree.MPI && !strings.HasSuffix(name, "()"):
			return name + "()"
		}
		return name
	})
}

// replaced are what a name may not hold: the end of a name; what is between names of a call path; and what begins the
// place of a function, which Hatchet takes apart.
var replaced = strings.NewReplacer(`"`, "'", "=>", "->", "[{", "[(")

func clean(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
	name = strings.Trim(replaced.Replace(name), " ") // readers cut blanks off
	if name == "" {
		return calltree.NoName
	}
	return name
}

// folders are the names of metrics in folders: TIME first, then those of the tree, none twice.
func folders(t *calltree.Tree) []string {
	list := []string{"TIME"}
	for _, m := range t.Metrics {
		name := strings.Map(func(r rune) rune {
			if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.:", r)) {
				return r
			}
			return '_'
		}, m.Name)
		if name == "" {
			name = "_"
		}
		distinct := name
		for n := 2; slices.Contains(list, distinct); n++ {
			distinct = name + "_" + strconv.Itoa(n)
		}
		list = append(list, distinct)
	}
	return list
}

// escape makes a text one of XML, on one line.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\uFFFE' || r == '\uFFFF' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}
