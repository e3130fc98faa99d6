package trace

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A CallPath is an MPI function and the return addresses that lead to its call, innermost first.
type CallPath struct {
	Function string // e.g. MPI_Send; empty in CallPath 0
	Frames   []Frame
}

// A Frame is a return address within a file that was mapped. Module, BuildID and Offset identify it; the rest says
// where the call before it is in the source, as far as that is known. A line of a program that an interpreter runs,
// such as Python, has no Module and no Offset: Function, File and Line identify it.
type Frame struct {
	Module  string // file name of the executable or library; empty = in no module
	BuildID string // hexadecimal GNU build id; empty where the module has none
	Offset  uint64 // return address minus the module's load address

	Function string // demangled, without its arguments; of inlined ones the innermost
	File     string // of the source, as the compiler was given it
	Line     int    // from 1; 0 = unknown

	FirstFile string // of Function: the file and line that define it
	FirstLine int    // 0 = unknown

	Inlined []Scope // what Function is inlined into there, outermost first; nil = it has machine code of its own
}

// A Scope is a function into which the compiler has put another one at a line.
type Scope struct {
	Function string
	File     string
	Line     int // 0 = unknown

	FirstFile string // as those of a Frame
	FirstLine int
}

// Folded is the function of a frame that stands for the frames of a recursion that were left out between two others. It
// has nothing else.
const Folded = "…"

// Same reports whether two frames are equal.
func (f *Frame) Same(g *Frame) bool {
	return f.Module == g.Module && f.BuildID == g.BuildID && f.Offset == g.Offset && f.Function == g.Function && f.File == g.File && f.Line == g.Line &&
		f.FirstFile == g.FirstFile && f.FirstLine == g.FirstLine && slices.Equal(f.Inlined, g.Inlined)
}

// Located reports whether the return address is known: its offset in the module, or the address if it is in none. A
// trace that others wrote has only functions, files and lines.
func (f Frame) Located() bool { return f.Offset != 0 }

// Place says where the frame is, as well as that is known: "comm_brick.cpp:505", "CommBrick::forward_comm",
// "lmp+0x1f3c", or nothing.
func (f Frame) Place() string {
	switch {
	case f.File != "" && f.Line > 0:
		return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
	case f.Function != "":
		return f.Function
	case f.Module != "":
		return fmt.Sprintf("%s+%#x", f.Module, f.Offset)
	}
	return ""
}

// Precise adds the frame's offset to a text that says where it is, in the parentheses in which backtrace_symbols(3)
// puts offsets within a module: "solve(+0x1f3c)". It is not one within the function. A frame without an offset has
// nothing to add.
func (f Frame) Precise(place string) string {
	if !f.Located() {
		return cmp.Or(place, "?")
	}
	if f.Function == "" && f.Line == 0 && f.Module != "" {
		return place // which holds it
	}
	return fmt.Sprintf("%s(+%#x)", place, f.Offset)
}

// Brief is Place with less of long C++ names: "List<…>::sort" for "LAMMPS_NS::List<std::vector<double> >::sort".
func (f Frame) Brief() string {
	if f.File != "" && f.Line > 0 || f.Function == "" || strings.Contains(f.Function, "operator") {
		return f.Place()
	}
	var parts []string
	var part strings.Builder
	depth := 0 // of angle brackets
	for i := 0; i < len(f.Function); i++ {
		c := f.Function[i]
		switch {
		case c == '<':
			if depth++; depth == 1 {
				part.WriteString("<…>")
			}
		case c == '>':
			depth = max(depth-1, 0)
		case depth > 0:
		case c == ':' && strings.HasPrefix(f.Function[i:], "::"):
			parts = append(parts, part.String())
			part.Reset()
			i++
		default:
			part.WriteByte(c)
		}
	}
	parts = append(parts, part.String())
	return strings.Join(parts[max(len(parts)-2, 0):], "::")
}

// Names gives every call path of a run a text of its own: that of its place, and, where several call paths lead there,
// those of their frames by which they differ, "MPI_Send@comm.c:7<solve.c:31<…<main.c:5".
//
// The text of a place is String, and only where places would read alike more of it: the offset of the frame,
// "MPI_Send@Comm::send(+0x1f3c)", of one without an offset its file with the folders, and, for files that differ in
// nothing but their build id, the place's number. So it does not depend on how many frames are known.
//
// Where a file has reported names it is these, so that they are the same in every file that is made of it.
func (r *Run) Names() []string {
	if r.PathNames != nil && len(r.PathNames) == len(r.CallPaths) {
		return slices.Clone(r.PathNames)
	}
	return pathNames(r.CallPaths)
}

// String returns the function and the place of the innermost frame, e.g. "MPI_Wait@comm_brick.cpp:505".
func (p CallPath) String() string {
	if p.Function == "" {
		return "?"
	}
	if len(p.Frames) == 0 || p.Frames[0].Place() == "" {
		return p.Function
	}
	return p.Function + "@" + p.Frames[0].Place()
}

// IsOnce reports whether a process calls an MPI function once: traces whose computation before it is cut in two show it
// at the end of both.
func IsOnce(function string) bool {
	return function == "MPI_Init" || function == "MPI_Init_thread" || function == "MPI_Finalize"
}

// IsPoll reports whether an MPI function only looks whether something is done: programs call it in a loop until it is.
func IsPoll(function string) bool {
	switch function {
	case "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Iprobe", "MPI_Improbe", "MPI_Request_get_status", "MPI_Parrived":
		return true
	}
	return false
}
