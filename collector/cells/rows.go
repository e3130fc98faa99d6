package cells

import (
	"context"
	"errors"
	"fmt"
	"math"

	"moriens/analysis/grouping"
	moriensv1 "moriens/proto/moriens/v1"
)

// A Labelled is rows of a ring that follow each other, with the cluster and the kind of the bursts before their calls:
// 0 where there is none in a unit, or grouping.LabelNoise or LabelFiltered.
type Labelled struct {
	Rows          uint32
	Cluster, Kind int32
}

// Rows asks an agent for the labels that its bursts have by the last Kinds, ring by ring, of clusters 1 … clusters.
func (c *Coordinator) Rows(ctx context.Context, agent uint64, rings []uint64, clusters int) (map[uint64][]Labelled, error) {
	n := c.nodes[agent]
	if n == nil {
		return nil, errors.New("collector/cells: the agent has sent no micro-cells")
	}
	all := make(map[uint64][]Labelled)
	for _, ring := range rings {
		ask := &moriensv1.CellsAsk{Taken: n.head.Survey, Body: &moriensv1.CellsAsk_Rows{Rows: &moriensv1.CellsRows{Ring: ring}}}
		sum := uint64(0)
		if err := c.ask(ctx, agent, ask, func(a *moriensv1.CellsAnswer) error {
			m := a.GetLabels()
			if m == nil || len(m.Cluster) != len(m.Rows) || len(m.Kind) != len(m.Rows) {
				return fmt.Errorf("rows are answered by %T, with columns of %d, %d and %d entries", a.Body, len(m.GetRows()), len(m.GetCluster()), len(m.GetKind()))
			}
			for i, rows := range m.Rows {
				x := Labelled{rows, m.Cluster[i], m.Kind[i]}
				if sum += uint64(rows); sum > math.MaxUint32 || rows == 0 || !inRange(x.Cluster, clusters) || !inRange(x.Kind, clusters) {
					return fmt.Errorf("%d rows behind %d have cluster %d and kind %d, of %d", rows, sum-uint64(rows), x.Cluster, x.Kind, clusters)
				}
				all[ring] = append(all[ring], x)
			}
			return nil
		}); err != nil {
			return nil, fmt.Errorf("collector/cells: agent %016x: %w", agent, err)
		}
	}
	return all, nil
}

func inRange(label int32, clusters int) bool {
	return label >= grouping.LabelFiltered && int(label) <= clusters
}
