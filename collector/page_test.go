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
		{[]health.Agent{{CPU: .5}, {CPU: 8, Shared: true}}, .5, ""},
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

// Collectors and agents that are processes of their own count for each call, a process that is both once.
func TestCallCost(t *testing.T) {
	agents := []health.Agent{{CPU: .5}, {CPU: 8, Shared: true}}
	for _, tt := range []struct {
		page health.Page
		ns   float64 // 0 = not known
		why  string
	}{
		{health.Page{CPU: 1.5, Calls: 1e6, Agents: agents}, 2000, ""},
		{health.Page{Calls: 1e6, Agents: agents}, 0, "not known of an earlier collector"},
		{health.Page{CPU: 1.5, Agents: agents}, 0, "no call yet"},
		{health.Page{CPU: 1.5}, 0, "no agent yet"},
		{health.Page{CPU: 1.5, Calls: 1e6, Agents: agents, Cells: new(health.Cells)}, 0, "known at the end of the run"},
	} {
		of := agentsCost(tt.page.Agents)
		got := callCost(&tt.page, &of)
		ns := 0.
		if got.Value != nil {
			ns = *got.Value
		}
		if ns != tt.ns || got.Why != tt.why || got.Unit != "ns" {
			t.Errorf("%+v: %v %s, %q; want %v, %q", tt.page, ns, got.Unit, got.Why, tt.ns, tt.why)
		}
	}
}
