package otf2

import (
	"moriens/trace"
	"moriens/trace/prv"
)

func readTrace(path string) (*trace.Run, error) {
	r, err := prv.ReadFile(path, prv.Options{})
	if err != nil {
		return nil, err
	}
	return r.Run, nil
}
