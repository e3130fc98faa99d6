package tracetest

import (
	"iter"
	"slices"

	"github.com/google/go-cmp/cmp"

	"moriens/trace"
)

// Routes compares what ranks have moved by what there is, not by how it is handed out.
var Routes = cmp.Transformer("routes", func(x iter.Seq[trace.TrafficRoute]) []trace.TrafficRoute {
	if x == nil {
		return nil
	}
	return slices.Collect(x)
})
