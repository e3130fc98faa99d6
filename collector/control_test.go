package collector

import (
	"testing"

	"moriens/collector/health"
)

// An order to end the run that arrives while the results are made does not take it back to an earlier stage.
func TestStagesGoForward(t *testing.T) {
	c := &Collector{end: newEnding()}
	c.end.analysing()
	c.Finish()
	if stage, _ := c.end.now(); stage != health.Analysing {
		t.Errorf("%s, want %s", stage, health.Analysing)
	}
	select {
	case <-c.Finishing():
	default:
		t.Error("the order is lost")
	}
}
