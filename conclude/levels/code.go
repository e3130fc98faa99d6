package levels

import (
	"moriens/analysis/program"
	"moriens/trace"
)

// Codes find what machine code says of the functions that hold the frames of a run.
type Codes struct {
	functions []trace.CodeFunction
	codes     []*program.Code
	of        map[codeAt]int
	unread    map[codeAt]string // by module: why functions of it are not known
}

type codeAt struct {
	module, buildID string
	offset          uint64
}

// CodesOf takes them from a run.
func CodesOf(r *trace.Run) Codes {
	c := Codes{functions: r.Code, of: make(map[codeAt]int), unread: make(map[codeAt]string)}
	for i := range r.Code {
		f := &r.Code[i]
		if f.Entry == 0 {
			c.unread[codeAt{f.Module, f.BuildID, 0}] = f.Refused
		}
		c.codes = append(c.codes, programCode(f))
		for _, s := range f.Sites {
			c.of[codeAt{f.Module, f.BuildID, s.Offset}] = i
		}
	}
	return c
}

// At returns the function that holds a frame, and what its code says: nil where that is not known, as f.Refused says.
// No function: its module was not read, or the frame has none.
func (c *Codes) At(frame *trace.Frame) (f *trace.CodeFunction, code *program.Code) {
	i, ok := c.of[codeAt{frame.Module, frame.BuildID, frame.Offset}]
	if !ok {
		return nil, nil
	}
	return &c.functions[i], c.codes[i]
}

// OnlyLines is why no machine code is known of what an interpreter runs, and of the traces of others.
const OnlyLines = "only files and lines were recorded"

// Unknown says why the machine code of the function that holds a frame is not known; empty: it is, or the frame stands
// for none.
func (c *Codes) Unknown(frame *trace.Frame) string {
	f, code := c.At(frame)
	switch {
	case code != nil || frame.Function == trace.Folded && frame.Module == "":
		return ""
	case frame.Module == "" && frame.Located():
		return "it is in no file"
	case frame.Module == "":
		return OnlyLines
	case f != nil && f.Entry != 0:
		return f.Refused
	}
	why := c.unread[codeAt{frame.Module, frame.BuildID, 0}]
	if why == "" {
		why = "it was not read"
	}
	return frame.Module + ": " + why
}

// programCode puts a function into the form of the inference.
func programCode(f *trace.CodeFunction) *program.Code {
	if f.Refused != "" {
		return nil
	}
	c := &program.Code{Follows: f.Follows, Next: f.Next, Skip: f.Skip}
	for _, l := range f.Loops {
		loop := program.Loop{Parent: l.Parent, File: l.File, Line: l.Line}
		for _, s := range l.Scopes {
			loop.Scopes = append(loop.Scopes, program.Inlined{Function: s.Function, CallFile: s.CallFile, CallLine: s.CallLine})
		}
		c.Loops = append(c.Loops, loop)
	}
	for _, s := range f.Sites {
		c.Sites = append(c.Sites, program.Site{Offset: s.Offset, Loop: s.Loop, Column: s.Column})
	}
	return c
}
