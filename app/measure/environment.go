package measure

import (
	"fmt"
	"io"
	"strings"
	"time"

	"moriens/internal/hint"
)

// Environment waits for the collector of a run directory and writes, as commands of a POSIX shell, the environment that
// the run's ranks need: MORIENS_RUN; that agents need: MORIENS_DIR, and MORIENS_CELLS where bursts are kept with them;
// and where the library is that the ranks preload: MORIENS_LIB. None of it is secret.
func Environment(w io.Writer, dir string, wait time.Duration) error {
	meet, err := meetCollector(dir, wait)
	if err != nil {
		return err
	}
	library, err := Library()
	if err != nil {
		return err
	}
	text := ""
	variables := [][2]string{{"MORIENS_RUN", meet.Run}, {"MORIENS_DIR", dir}, {"MORIENS_LIB", library}}
	if meet.Cells != "" {
		variables = append(variables, [2]string{"MORIENS_CELLS", "1"})
	}
	for _, v := range variables {
		text += fmt.Sprintf("export %s=%s\n", v[0], quoted(v[1]))
	}
	if _, err := io.WriteString(w, text); err != nil {
		return hint.With(err, "use the output in a shell: eval \"$(moriens env "+dir+")\"")
	}
	return nil
}

// quoted makes one word of a shell of any text.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
