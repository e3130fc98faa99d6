package otf2

// Numbers of the OTF2 specification. The C part checks that they are those of the library that it is compiled against.
const (
	undefined = 1<<32 - 1

	paradigmUser        = 1
	paradigmCompiler    = 2
	paradigmMPI         = 4
	paradigmMeasurement = 6

	roleFunction     = 1
	roleCode         = 4
	roleBarrier      = 15
	roleOneToAll     = 23
	roleAllToOne     = 24
	roleAllToAll     = 25
	roleCollective   = 26
	roleFile         = 27
	rolePointToPoint = 28
	roleOneSided     = 29
	roleArtificial   = 31

	typeUint8   = 1
	typeUint64  = 4
	typeInt32   = 7
	typeDouble  = 10
	typeString  = 11
	typeContext = 21

	parameterString = 0
	parameterInt    = 1

	metricAccumulated = 0  // since the location's begin
	metricNext        = 49 // absolute, until the next value

	metricSynchronous  = 1
	metricAsynchronous = 2

	groupCommLocations = 4
	groupComm          = 5

	rootNone = undefined
	rootSelf = undefined - 1

	measurementOn  = 1
	measurementOff = 2
)

// Operations of collectives.
const (
	opBarrier            = 0
	opBcast              = 1
	opGather             = 2
	opGatherv            = 3
	opScatter            = 4
	opScatterv           = 5
	opAllgather          = 6
	opAllgatherv         = 7
	opAlltoall           = 8
	opAlltoallv          = 9
	opAlltoallw          = 10
	opAllreduce          = 11
	opReduce             = 12
	opReduceScatter      = 13
	opScan               = 14
	opExscan             = 15
	opReduceScatterBlock = 16
	opCreateHandle       = 17
	opDestroyHandle      = 18
)
