package timing

import (
	"os"
	"testing"
)

func TestUsage(t *testing.T) {
	before, err := UsageOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	big := make([]byte, 64<<20)
	for i := range big {
		big[i] = byte(i)
	}
	after, err := UsageOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if got := after.Resident - before.Resident; got < 48<<20 || after.CPU <= before.CPU {
		t.Errorf("64 MiB more are %g bytes; %g s, then %g s", got, before.CPU, after.CPU)
	}
	if after.Peak < after.Resident-4<<20 || after.Shared >= 48<<20 || after.Switches < before.Switches {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if now, err := CPU(); err != nil || now < after.CPU {
		t.Errorf("%g s after %g s: %v", now, after.CPU, err)
	}
	if big[len(big)-1] != 255 {
		t.Error("not kept")
	}
	if _, err := UsageOf(0); err == nil {
		t.Error("process 0 has a usage")
	}
}
