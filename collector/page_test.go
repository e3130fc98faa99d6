package collector

import (
	"testing"

	"moriens/collector/health"
)

// What the agents take is a figure once each has reported, and until then the reason why there is none.
func TestAgentsCost(t *testing.T) {
	for _, tt := range []struct {
		agents []health.Agent
		value  float64 // 0 = none
		why    string
	}{
		{nil, 0, "no agent yet"},
		{[]health.Agent{{CPU: .5}, {}}, 0, "reported only at the end by 1 agent"},
		{[]health.Agent{{}, {CPU: .5}, {}}, 0, "reported only at the end by 2 agents"},
		{[]health.Agent{{CPU: .5}, {CPU: 1.25}}, 1.75, ""},
	} {
		got := agentsCost(tt.agents)
		value := 0.
		if got.Value != nil {
			value = *got.Value
		}
		if value != tt.value || got.Why != tt.why || got.Unit != "s" {
			t.Errorf("%v: %v %s, %q; want %v, %q", tt.agents, value, got.Unit, got.Why, tt.value, tt.why)
		}
	}
}
