package pairing

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"moriens/app/question"
	"moriens/internal/files"
	"moriens/internal/hint"
	"moriens/internal/units"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// An Answer is what is known of the pairs of a run.
type Answer struct {
	*Result
	Manifest *rundir.Manifest
}

// Ask reads a run directory and answers a question of it. The ranks of the list are those of the question.
func Ask(dir string, q Question, ranks RankList) (*Answer, error) {
	a, err := ask(dir, q, ranks)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return a, nil
}

func ask(dir string, q Question, ranks RankList) (*Answer, error) {
	m, err := question.Manifest(dir)
	if err != nil {
		return nil, err
	}
	if m.Nobody() {
		return nil, hint.With(fmt.Errorf("no rank was recorded: %s", m.Empty), "moriens status "+dir+" says what is known")
	}
	file, err := Read(dir, m)
	if err != nil {
		return nil, err
	}
	if file.Totals == nil {
		return nil, hint.With(fmt.Errorf("no messages are known%s", why(file.Why)), "docs/pairs.md says of which runs they are known; moriens waits "+dir+" shows waits in collectives")
	}
	s, err := newSolver(file, q)
	if err != nil {
		return nil, hint.Default(err, rundir.AdviseDamage)
	}
	if ranks != nil {
		if s.question.Ranks, err = ranks.Of(s.out.Ranks); err != nil {
			return nil, question.Misuse("moriens status "+dir+" says how many ranks there are", "%w", err)
		}
	}
	if err := s.scan(dir); err != nil {
		return nil, err
	}
	if s.question.By == Span {
		if s.spans, err = readSpans(dir, m, s.number); err != nil {
			return nil, err
		}
	}
	r, err := s.result()
	if err != nil {
		return nil, hint.Default(err, rundir.AdviseDamage)
	}
	return &Answer{r, m}, nil
}

// Of answers the question that nobody has changed, of a run directory with this manifest. Without pairs.json the error
// is fs.ErrNotExist. Where no messages are known, the answer says why.
func Of(dir string, m *rundir.Manifest) (*Result, error) {
	file, err := Read(dir, m)
	if err != nil {
		return nil, err
	}
	s, err := newSolver(file, Question{})
	if err == nil && file.Totals != nil {
		err = s.scan(dir)
	}
	if err != nil {
		return nil, err
	}
	return s.result()
}

// scan adds the rows of pairs.parquet.
func (s *solver) scan(dir string) error {
	f, err := files.Open(filepath.Join(dir, rundir.PairsTableFile))
	if errors.Is(err, fs.ErrNotExist) {
		return hint.With(fmt.Errorf("it has no %s beside %s", rundir.PairsTableFile, rundir.PairsFile), rundir.AdviseDamage)
	}
	if err != nil {
		return hint.Default(err, rundir.AdviseDamage)
	}
	defer f.Close()
	if err := parquet.ScanPairs(f, f.Size(), s.add); err != nil {
		return hint.Default(fmt.Errorf("%s: %w", rundir.PairsTableFile, err), rundir.AdviseDamage)
	}
	if err := s.agrees(); err != nil {
		return hint.Default(err, rundir.AdviseDamage)
	}
	return nil
}

// agrees refuses rows that are not those of the totals: the two files are of different runs.
func (s *solver) agrees() error {
	t, g := s.file.Totals, s.gathering
	if n := s.file.Table.Rows; g.rows != n {
		return fmt.Errorf("%s has %s, %s says %s", rundir.PairsTableFile, units.Counted(int(g.rows), "row"), rundir.PairsFile, units.Integer(int(n)))
	}
	if s.file.Table.Summed > 0 { // rows of several peers do not say whether these have records
		return nil
	}
	if g.total.messages != t.Messages || g.total.bytes != t.Bytes {
		return fmt.Errorf("%s has %s of %s, %s says %s of %s", rundir.PairsTableFile, units.Counted(int(g.total.messages), "message"), units.Counted(int(g.total.bytes), "byte"),
			rundir.PairsFile, units.Integer(int(t.Messages)), units.Integer(int(t.Bytes)))
	}
	return nil
}

func why(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, "; ")
}

// Read is what a run directory with this manifest has. Where it has no pairs.json, the error is fs.ErrNotExist.
func Read(dir string, m *rundir.Manifest) (*rundir.Pairs, error) {
	p, err := question.Read(dir, m, question.File[rundir.Pairs]{Name: rundir.PairsFile, Of: "pairs", Read: rundir.ReadPairs})
	if err != nil {
		return nil, err
	}
	ranks := 0
	for _, h := range p.Hosts {
		n, _ := rundir.CountRanks(h.Ranks)
		ranks += n
	}
	if ranks > m.Ranks { // fewer: some have left no record
		return nil, hint.With(fmt.Errorf("%s has %s, %s says %s", rundir.PairsFile, units.Counted(ranks, "rank"), rundir.ManifestFile, units.Integer(m.Ranks)), rundir.AdviseDamage)
	}
	return p, nil
}
