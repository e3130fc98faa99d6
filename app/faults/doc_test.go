// Package faults holds a test of agent and collector as separate processes. While ranks record, agent, collector or a
// rank are killed, the collector freezes, connections break and the disk fills up. When all have recovered, the run
// directory holds the bursts that the ranks recorded, each once, except for those that are counted as lost.
//
//	go test ./app/faults                      # 180 rounds with written rings, 20 with real MPI
//	go test ./app/faults -rounds 1800 -timeout 5h
//	go test ./app/faults -run 'Rounds/17$' -v # round 17 again: what happens in it follows from its number
//	make soak                                      # 300 rounds with real MPI of another kind: docs/soak.md
package faults
