package collector

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/protobuf/proto"

	"moriens/collector/journal"
	"moriens/internal/rendezvous"
	"moriens/internal/team"
	moriensv1 "moriens/proto/moriens/v1"
)

// common is what the first collector of a run sends the others at the start: it never leaves the team.
type common struct {
	Start   string // names this start
	Resumed bool   // the run began in an earlier process
	Begin   []byte // JournalBegin, the run's token and key in it
	Volumes []int  // journals that collectors before have left, by their numbers
}

// memberDir is the journal of a run's collector, by its number. The first one's is that of a run with one collector,
// and holds the others.
func memberDir(dir string, member int) string {
	if member == 0 {
		return dir
	}
	return filepath.Join(dir, strconv.Itoa(member))
}

// volumes lists the journals that the first one's directory holds, by their numbers.
func volumes(dir string) (list []int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("journal: %w", err)
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && e.IsDir() && n > 0 && strconv.Itoa(n) == e.Name() {
			list = append(list, n)
		}
	}
	return list, nil
}

// openJournals opens each collector's journal and, where there were more collectors before, shares the others out:
// journal i goes to collector i modulo their number.
func openJournals(t team.Team, config Config) (j *journal.Journal, all common, err error) {
	run := journal.Run{Run: config.Run, Command: config.Launcher, Version: config.Version, Options: config.Given}
	if t.Rank() == 0 {
		j, all, err = openFirst(t, config, run)
	}
	if err = team.Agree(t, err); err == nil {
		err = hand(t, &all)
	}
	if err != nil {
		if j != nil {
			err = errors.Join(err, j.Close())
		}
		return nil, all, err
	}
	if t.Rank() > 0 {
		run.Like = new(moriensv1.JournalBegin)
		if err = proto.Unmarshal(all.Begin, run.Like); err == nil {
			run.TakeOver = takeOver(t, config.Journal, all.Volumes)
			j, err = journal.Open(memberDir(config.Journal, t.Rank()), run, config.Log)
		}
	}
	if err = team.Agree(t, err); err == nil {
		err = agreeOnEnd(t, j)
	}
	switch {
	case err == nil:
		return j, all, nil
	case !all.Resumed:
		err = errors.Join(err, discard(t, j))
	case j != nil:
		err = errors.Join(err, j.Close())
	}
	return nil, all, err
}

func openFirst(t team.Team, config Config, run journal.Run) (j *journal.Journal, all common, err error) {
	if all.Volumes, err = volumes(config.Journal); err != nil {
		return nil, all, err
	}
	run.TakeOver = takeOver(t, config.Journal, all.Volumes)
	if j, err = journal.Open(config.Journal, run, config.Log); err != nil {
		return nil, all, err
	}
	all.Start, all.Resumed = rendezvous.NewSecret(8), j.Resumed()
	all.Begin, err = proto.Marshal(j.Begin())
	return j, all, err
}

// takeOver lists the journals that have no collector of their own, and belong to this one.
func takeOver(t team.Team, dir string, volumes []int) (list []string) {
	for _, n := range volumes {
		if n >= t.Size() && n%t.Size() == t.Rank() {
			list = append(list, memberDir(dir, n))
		}
	}
	return list
}

// hand gives all what the first has.
func hand(t team.Team, all *common) error {
	var text []byte
	if t.Rank() == 0 {
		var err error
		if text, err = encode(all); err != nil {
			return err
		}
	}
	received, err := t.AllGather(text)
	if err != nil {
		return err
	}
	return decode(received[0], all)
}

// agreeOnEnd has all know that the run has ended, if one journal says so.
func agreeOnEnd(t team.Team, j *journal.Journal) error {
	var text []byte
	if end := j.End(); end != nil {
		var err error
		if text, err = proto.Marshal(end); err != nil {
			return err
		}
	}
	received, err := t.AllGather(text)
	if err != nil {
		return err
	}
	for _, text := range received {
		if len(text) == 0 {
			continue
		}
		end := new(moriensv1.JournalEnd)
		if err := proto.Unmarshal(text, end); err != nil {
			return err
		}
		j.Ended(end)
		break
	}
	return nil
}

// discard removes the journals of all collectors: that of the first, which holds the others, last. One that could not
// be opened is nil.
func discard(t team.Team, j *journal.Journal) (err error) {
	if t.Rank() > 0 && j != nil {
		err = j.Remove()
	}
	err = errors.Join(err, team.Agree(t, nil))
	if t.Rank() == 0 {
		err = errors.Join(err, j.Remove())
	}
	return err
}
