package page

import (
	"encoding/json"

	"moriens/internal/units"
	"moriens/trace/rundir"
)

// mostOfProgram is how large the structure of a program, and the points of its loops, may be: ten times what a run
// directory is written with.
const mostOfProgram = 10 << 20

// addProgram takes the structure of the program as it is. Its numbers of call paths are those of the run: they are the
// page's too, if that has taken all paths with theirs.
func (b *builder) addProgram() {
	b.doc.Program = b.document(b.source.ProgramJSON, rundir.ProgramFile)
	b.doc.ProgramJoined = b.doc.Program != nil && b.paths == nil
}

// document is a part of the page that is JSON already; nil = there is none, or none that can be shown.
func (b *builder) document(text json.RawMessage, name string) json.RawMessage {
	var object map[string]json.RawMessage
	switch {
	case len(text) == 0:
		return nil
	case len(text) > mostOfProgram:
		b.doc.Problems = append(b.doc.Problems, name+": more than "+units.Bytes(mostOfProgram).String()+" are not shown.")
	case json.Unmarshal(text, &object) != nil:
		b.doc.Problems = append(b.doc.Problems, name+": this is not a JSON object.")
	case object != nil:
		return text
	}
	return nil
}
