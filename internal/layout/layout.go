// Package layout holds the test of who may import whom, which keeps the stages of the data path apart:
//
//	cshim → agent → collector → analysis → trace
package layout
