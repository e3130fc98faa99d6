package page_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/trace/page"
	"moriens/trace/rundir"
	"moriens/trace/tracetest"
)

// A page has the structure of the program as the directory has it, and says whether its numbers are those of the
// page's call paths.
func TestProgram(t *testing.T) {
	dir, _ := write(t, content(tracetest.Small(), nil))
	if d := fromDirectory(t, dir, page.LimitsOf(page.Report)).Document; string(d.Program) != "null" && d.Program != nil || d.ProgramJoined {
		t.Errorf("a directory without program.json: %s, joined %v", d.Program, d.ProgramJoined)
	}
	const program = `{"format":1,"body":[{"kind":"mpi","function":"MPI_</script>","paths":[1]}]}`
	if err := os.WriteFile(filepath.Join(dir, rundir.ProgramFile), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := page.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := content(tracetest.Small(), nil)
	c.Levels = &rundir.Levels{Program: &rundir.Structured{JSON: []byte(program)}}
	if written, err := page.Of(c, nil); err != nil || !bytes.Equal(written.ProgramJSON, s.ProgramJSON) {
		t.Errorf("at the end of the run it is %s, %v; the directory has %s", written.ProgramJSON, err, s.ProgramJSON)
	}
	shown := func(s page.Source) page.Document {
		var b bytes.Buffer
		if err := page.Write(&b, page.View, s, page.LimitsOf(page.View)); err != nil {
			t.Fatal(err)
		}
		return open(t, b.Bytes()).Document
	}
	d := shown(s)
	var got struct {
		Body []struct{ Function string }
	}
	if err := json.Unmarshal(d.Program, &got); err != nil || len(got.Body) != 1 || got.Body[0].Function != "MPI_</script>" {
		t.Errorf("the program is %s, %v", d.Program, err)
	}
	if !d.ProgramJoined {
		t.Error("the numbers of call paths are those of the run, which is not said")
	}
	// Where files have paths of different numbers, the page has its own.
	other := *s.Rows
	other.PathNames = slices.Clone(other.PathNames)
	other.PathNames[1] = "MPI_Init_thread"
	mixed := s
	mixed.Rows = &other
	if d := shown(mixed); d.ProgramJoined || d.Program == nil {
		t.Error("numbers of other paths are taken for those of the page")
	}
	for what, damaged := range map[string]string{"cut off": `{"format":1,"bo`, "a list": `[]`, "large": `{"a":"` + strings.Repeat("x", 11<<20) + `"}`} {
		s.ProgramJSON = json.RawMessage(damaged)
		d := shown(s)
		if d.ProgramJoined || len(d.Problems) == 0 || !strings.HasPrefix(d.Problems[len(d.Problems)-1], "program.json: ") {
			t.Errorf("%s: joined %v, problems %q", what, d.ProgramJoined, d.Problems)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, rundir.ProgramFile), make([]byte, rundir.ProgramBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := page.Open(dir); err != nil || s.ProgramJSON != nil || !slices.ContainsFunc(s.Problems, func(p string) bool { return strings.HasPrefix(p, "program.json: ") }) {
		t.Errorf("a file that is too large: %d bytes, problems %q, %v", len(s.ProgramJSON), s.Problems, err)
	}
}
