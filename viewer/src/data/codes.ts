// What a thread does at a time, as a number: docs/format/overview.md.
import { FILTERED, MISSING, NOISE } from './clusters';

export const NOTHING = 0;
export const MPI = 1;
export const NO_DATA = 4; // bursts that lack a counter
export const CHOSEN = 0x1fffffff; // MPI calls of the selected line of the program, on this page alone
export const LOST = 0xffff; // MPI calls for which there was no room
export const OTHERS = 5; // clusters that have no code of their own; cluster 1 is 6

// What is in MPI and waits has this and the number of the kind.
const WAITING = 0x20000000;

const unclustered = new Map([
  [2, NOISE],
  [3, FILTERED],
  [NO_DATA, MISSING],
]);

export const codeOf = (cluster: number) => (cluster > 0 ? OTHERS + cluster : cluster === NOISE ? 2 : cluster === FILTERED ? 3 : NO_DATA);

// clusterOf gives the cluster of a code, or 0 where it is none's.
export const clusterOf = (code: number) => (code === LOST || code === CHOSEN || code > WAITING ? 0 : code > OTHERS ? code - OTHERS : (unclustered.get(code) ?? 0));

export const waiting = (kind: number) => WAITING + kind;

// kindOf gives the kind of wait of a code, or 0 where it is none's.
export const kindOf = (code: number) => (code > WAITING ? code - WAITING : 0);
