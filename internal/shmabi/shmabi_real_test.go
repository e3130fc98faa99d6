//go:build !quick

package shmabi

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"moriens/internal/testenv"
)

// cgo -godefs drops the prefix that all of a structure's underscored fields share.
var cNames = map[string]string{"LogModule.Id": "build_id", "LogModule.Id_bytes": "build_id_bytes", "LogPlace.Bytes": "file_bytes"}

var structures = map[string]reflect.Type{
	"moriens_slot": reflect.TypeFor[Slot](), "moriens_counters": reflect.TypeFor[Counters](), "moriens_polls": reflect.TypeFor[Polls](), "moriens_ring": reflect.TypeFor[Ring](), "moriens_ring_segment": reflect.TypeFor[Segment](), "moriens_process": reflect.TypeFor[Process](),
	"moriens_log_entry": reflect.TypeFor[LogEntry](), "moriens_log_module": reflect.TypeFor[LogModule](),
	"moriens_log_frame": reflect.TypeFor[LogFrame](), "moriens_log_path": reflect.TypeFor[LogPath](),
	"moriens_transfer": reflect.TypeFor[Transfer](), "moriens_collective": reflect.TypeFor[Collective](),
	"moriens_request": reflect.TypeFor[Request](), "moriens_mark": reflect.TypeFor[Mark](),
	"moriens_log_comm": reflect.TypeFor[LogComm](), "moriens_log_ranks": reflect.TypeFor[LogRanks](), "moriens_log_name": reflect.TypeFor[LogName](),
	"moriens_log_origin": reflect.TypeFor[LogOrigin](), "moriens_log_place": reflect.TypeFor[LogPlace](),
}

func cName(typ reflect.Type, field reflect.StructField) string {
	if name, renamed := cNames[typ.Name()+"."+field.Name]; renamed {
		return name
	}
	return strings.ToLower(field.Name)
}

// TestLayoutIsTheCompilers asks the C compiler for the size of every structure and the size and
// offset of every field.
func TestLayoutIsTheCompilers(t *testing.T) {
	testenv.Need(t, "gcc")
	var program, want strings.Builder
	program.WriteString("#include <stddef.h>\n#include <stdio.h>\n#include \"shim_abi.h\"\nint main(void) {\n")
	for tag, typ := range structures {
		fmt.Fprintf(&program, "printf(\"%s %%zu\\n\", sizeof(struct %s));\n", tag, tag)
		fmt.Fprintf(&want, "%s %d\n", tag, typ.Size())
		for i := range typ.NumField() {
			field := typ.Field(i)
			name := cName(typ, field)
			fmt.Fprintf(&program, "printf(\"%s.%s %%zu %%zu\\n\", offsetof(struct %s, %s), sizeof(((struct %s *)0)->%s));\n",
				tag, name, tag, name, tag, name)
			fmt.Fprintf(&want, "%s.%s %d %d\n", tag, name, field.Offset, field.Type.Size())
		}
	}
	program.WriteString("return 0;\n}\n")
	dir := t.TempDir()
	source := filepath.Join(dir, "layout.c")
	if err := os.WriteFile(source, []byte(program.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "layout")
	if out, err := exec.Command("gcc", "-std=c11", "-I../../cshim/include", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := exec.Command(binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Errorf("C says\n%s\nGo says\n%s", got, want.String())
	}
}

// TestTypesAreCurrent generates types.go again and compares.
func TestTypesAreCurrent(t *testing.T) {
	testenv.Need(t, "gcc")
	if got := reflect.TypeOf(uintptr(0)).Size(); got != 8 {
		t.Skip("the mirror is generated on a 64-bit machine")
	}
	dir := t.TempDir()
	cmd := exec.Command("go", "tool", "cgo", "-godefs", "-objdir", dir, "types_def.go")
	got, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("types.go")
	if err != nil {
		t.Fatal(err)
	}
	if squeeze(string(got)) != squeeze(string(want)) {
		t.Error("types.go is not what the header gives; run go generate ./internal/shmabi")
	}
}

// squeeze removes what gofmt changes, and the command line that cgo writes on top.
func squeeze(source string) string {
	_, code, _ := strings.Cut(source, "package shmabi")
	return strings.Join(strings.Fields(code), "")
}

// TestPageSaysTheSame compares the tables of docs/format/ring.md.
func TestPageSaysTheSame(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/ring.md")
	if err != nil {
		t.Fatal(err)
	}
	for tag, typ := range structures {
		_, section, found := strings.Cut(string(page), "### struct "+tag+"\n")
		if !found {
			t.Errorf("no table of %s", tag)
			continue
		}
		section, _, _ = strings.Cut(section, "\n#")
		for i := range typ.NumField() {
			field := typ.Field(i)
			if strings.HasPrefix(field.Name, "Pad") {
				continue
			}
			row := fmt.Sprintf("| %d | %d | `%s` |", field.Offset, field.Type.Size(), cName(typ, field))
			if !strings.Contains(section, row) {
				t.Errorf("%s has no row %s", tag, row)
			}
		}
	}
}
