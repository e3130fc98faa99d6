package retention

import (
	"moriens/analysis/represent"
	"moriens/internal/mpicall"
)

// classOf says what calls of a class of the MPI standard do, as ranks are compared.
var classOf = map[mpicall.Class]represent.CallClass{
	mpicall.PointToPoint: represent.PointToPoint, mpicall.Partitioned: represent.PointToPoint, mpicall.Persistent: represent.PointToPoint,
	mpicall.Buffer: represent.PointToPoint, mpicall.Completion: represent.Wait, mpicall.Collective: represent.Collective,
	mpicall.Neighbourhood: represent.Collective, mpicall.OneSided: represent.OneSided, mpicall.IO: represent.IO,
}

// CallClass is what an MPI function does, as ranks are compared.
func CallClass(function string) represent.CallClass {
	if id, known := mpicall.ByName(function); known {
		if class, has := classOf[id.Class()]; has {
			return class
		}
	}
	return represent.OtherCalls
}
