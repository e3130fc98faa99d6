package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCommittedFilesAreCurrent(t *testing.T) {
	files, err := render()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		got, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the table gives; run make generate", path)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	const good = "1 MPI_Send point-to-point 50000001 1 4 buf count\n"
	if _, err := parse(good); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, line, want string }{
		{"id twice", "1 MPI_Recv point-to-point 50000001 2 3 buf", "has the id of MPI_Send"},
		{"value twice", "2 MPI_Recv point-to-point 50000001 1 3 buf", "has the Paraver value of MPI_Send"},
		{"id zero", "0 MPI_Recv point-to-point 50000001 2 3 buf", "bad id"},
		{"id too large", "65536 MPI_Recv point-to-point 50000001 2 3 buf", "bad id"},
		{"name", "2 Recv point-to-point 50000001 2 3 buf", "bad name"},
		{"class", "2 MPI_Recv p2p 50000001 2 3 buf", "bad class"},
		{"own value by hand", "2 MPI_Recv point-to-point 50000001 1002 3 buf", "bad event value"},
		{"parameter twice", "2 MPI_Recv point-to-point 50000001 2 3 buf buf", "two parameters"},
		{"role", "2 MPI_Recv point-to-point 50000001 2 3 buffer", "bad parameter"},
		{"short", "2 MPI_Recv point-to-point", "3 fields"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(good + c.line)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "calls.txt:2") {
				t.Errorf("got %v, want calls.txt:2 and %q", err, c.want)
			}
		})
	}
}

// TestMeanings looks at what the roles of some calls become, in C and in Fortran.
func TestMeanings(t *testing.T) {
	calls, err := parse(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		call string
		r    reader
		want []string // all there is, in its order: at the entry, a semicolon, at the exit
	}{
		{"MPI_Send", reader{}, []string{"moriens_transfer(&span, MORIENS_SLOT_SENT, (int)count, moriens_handle(type), (int)dest, (int)tag, moriens_comm_ref(comm))", ";"}},
		{"MPI_Send_c", reader{fortran: true}, []string{"moriens_transfer(&span, MORIENS_SLOT_SENT, *(const int64_t *)count, moriens_fortran_handle(type), *(const int *)dest, *(const int *)tag, moriens_fortran_comm_ref(comm))", ";"}},
		{"MPI_Probe", reader{}, []string{"moriens_probe(&span, (int)source, (int)tag, moriens_comm_ref(comm))", "status = moriens_status(status, MORIENS_C)", ";", "moriens_received(&span, status)"}},
		{"MPI_Iprobe", reader{}, []string{"status = moriens_status(status, MORIENS_C)", ";", "moriens_probe(&span, (int)source, (int)tag, moriens_comm_ref(comm))", "moriens_received(&span, status)"}},
		{"MPI_Ibarrier", reader{}, []string{"moriens_collective(&span, MORIENS_SHAPE_NONE, moriens_comm_ref(comm), MORIENS_NOBODY, NULL, NULL)", ";", "moriens_made_request(&span, moriens_request_at(MORIENS_C, request, 0))"}},
		{"MPI_Allgatherv", reader{fortran: true, described: true}, []string{"moriens_collective(&span, MORIENS_SHAPE_ALLGATHER, moriens_fortran_comm_ref(comm), MORIENS_NOBODY, " +
			"MORIENS_SIDE(*(const word *)sbuf, *(const int *)scount, MORIENS_NO_ARRAY, moriens_fortran_handle(stype), MORIENS_NO_ARRAY, MORIENS_F), " +
			"MORIENS_SIDE(*(const word *)rbuf, 0, MORIENS_ARRAY(rcounts, 4), moriens_fortran_handle(rtype), MORIENS_NO_ARRAY, MORIENS_F))", ";"}},
		{"MPI_Comm_dup", reader{}, []string{"moriens_collective_of(&span, moriens_comm_ref(comm), MORIENS_NOBODY)", ";", "moriens_made(moriens_comm_ref_at(newcomm))"}},
		{"MPI_Win_free", reader{}, []string{"moriens_collective_of(&span, moriens_win_ref_at(win), MORIENS_NOBODY)", ";", "moriens_freed()"}},
		{"MPI_Rget", reader{}, []string{"moriens_access(&span, MORIENS_SLOT_GOT, (int)ocount, moriens_handle(otype), (int)target, moriens_win_ref(win))", ";", "moriens_requested(&span, moriens_request_at(MORIENS_C, request, 0))"}},
		{"MPI_File_read_ordered_end", reader{}, []string{"moriens_collective_of(&span, moriens_file_ref(file), MORIENS_NOBODY)", ";"}},
		{"MPI_File_get_position_shared", reader{}, []string{";"}},
		{"MPI_Request_get_status_all", reader{}, []string{";"}},
		{"MPI_Finalize", reader{}, []string{";"}},
	} {
		t.Run(c.call, func(t *testing.T) {
			i := slices.IndexFunc(calls, func(of call) bool { return of.name == c.call })
			m := meaningOf(calls[i], c.r)
			got := append(append(append(slices.Clone(m.given), ";"), m.succeeded...), m.returned...)
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestEveryRole: what moves messages, or is collective by its event, means something in every binding.
func TestEveryRole(t *testing.T) {
	calls, err := parse(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		moves := c.has("buf") && c.class != "buffer" || c.has("sbuf") || c.has("obuf") || c.eventType == collectiveEvent || c.has("newcomm")
		for _, r := range []reader{{}, {fortran: true}} {
			m := meaningOf(c, r)
			if moves && len(m.given)+len(m.succeeded) == 0 {
				t.Errorf("%s means nothing: %+v", c.name, r)
			}
			for _, statement := range append(slices.Clone(m.given), m.succeeded...) {
				if strings.Contains(statement, "%!") || strings.Contains(statement, ", ,") {
					t.Errorf("%s: %s", c.name, statement)
				}
			}
		}
	}
}
