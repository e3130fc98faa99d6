package parquet

import (
	"fmt"
	"io"

	pq "github.com/parquet-go/parquet-go"

	"moriens/trace"
)

// numberedTransferRow is a row of transfers.parquet: docs/format/transfers.md.
type numberedTransferRow struct {
	transferRow
	Path int32 `parquet:"path,dict"` // of the call
}

// transferRow is what of it is read, which files of earlier versions have too.
type transferRow struct {
	World     int32  `parquet:"world,dict"`
	Rank      int32  `parquet:"rank,dict"`
	Thread    int32  `parquet:"thread,dict"`
	Call      int64  `parquet:"call,delta"`
	Kind      string `parquet:"kind,dict"`
	PeerWorld int32  `parquet:"peer_world,dict"`
	Peer      int32  `parquet:"peer,dict"`
	Tag       int32  `parquet:"tag,dict"`
	Comm      int32  `parquet:"communicator,dict"`
	Bytes     int64  `parquet:"bytes,delta"`
	Done      int64  `parquet:"done,delta"`
}

// A Transfer is one of trace.Transfers.
type Transfer struct {
	World, Rank, Thread int // whose it is
	Call, Done          int64
	Kind                trace.TransferKind
	PeerWorld, Peer     int32
	Tag, Comm           int32
	Bytes               int64
}

// WriteTransfers writes what the calls of a run move, by world, rank, thread and call.
func WriteTransfers(w io.Writer, run *trace.Run) error {
	return writeRows(w, nil, func(put func(numberedTransferRow) error) error {
		for i := range run.Threads {
			t := &run.Threads[i]
			x := &t.Transfers
			for k := range x.Call {
				world := int32(t.World)
				if x.PeerWorld != nil {
					world = x.PeerWorld[k]
				}
				path := uint32(0)
				if int(x.Call[k]) < t.Calls.Len() {
					path = t.Calls.Path[x.Call[k]]
				}
				err := put(numberedTransferRow{transferRow{
					int32(t.World), int32(t.Rank), int32(t.Thread), int64(x.Call[k]), x.Kind[k].String(), world, x.Peer[k], x.Tag[k], x.Comm[k], x.Bytes[k], int64(x.Done[k]),
				}, int32(path)})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// ReadTransfers reads what WriteTransfers wrote and hands each transfer to put.
func ReadTransfers(in io.ReaderAt, bytes int64, put func(Transfer) error) error {
	each := func(r *transferRow) error {
		kind, known := trace.ParseTransferKind(r.Kind)
		if !known || r.Bytes < 0 || r.Call < 0 {
			return fmt.Errorf("a transfer of kind %q, of %d bytes, of call %d", r.Kind, r.Bytes, r.Call)
		}
		return put(Transfer{int(r.World), int(r.Rank), int(r.Thread), r.Call, r.Done, kind, r.PeerWorld, r.Peer, r.Tag, r.Comm, r.Bytes})
	}
	return withDense(in, bytes, transferValuesPerByte, func(f *pq.File) error { return eachRow(f, each) })
}
