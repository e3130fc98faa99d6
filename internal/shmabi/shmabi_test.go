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
var cNames = map[string]string{"LogModule.Id": "build_id", "LogModule.Id_bytes": "build_id_bytes"}

// TestLayoutIsTheCompilers asks the C compiler for the size of every structure and the size and
// offset of every field.
func TestLayoutIsTheCompilers(t *testing.T) {
	testenv.Need(t, "gcc")
	var program, want strings.Builder
	program.WriteString("#include <stddef.h>\n#include <stdio.h>\n#include \"shim_abi.h\"\nint main(void) {\n")
	for tag, value := range map[string]any{
		"moriens_slot": Slot{}, "moriens_ring": Ring{}, "moriens_process": Process{},
		"moriens_log_entry": LogEntry{}, "moriens_log_module": LogModule{},
		"moriens_log_frame": LogFrame{}, "moriens_log_path": LogPath{},
	} {
		typ := reflect.TypeOf(value)
		fmt.Fprintf(&program, "printf(\"%s %%zu\\n\", sizeof(struct %s));\n", tag, tag)
		fmt.Fprintf(&want, "%s %d\n", tag, typ.Size())
		for i := range typ.NumField() {
			field := typ.Field(i)
			name := strings.ToLower(field.Name)
			if c, renamed := cNames[typ.Name()+"."+field.Name]; renamed {
				name = c
			}
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
