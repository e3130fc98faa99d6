// Who and what waits are of, and what a row of them selects.
import { usePack } from '../data/context';
import { FILTERED, MISSING, NOISE } from '../data/clusters';
import type { ThreadName } from '../data/manifest';
import { numberOf } from '../data/names';
import type { Pack } from '../data/pack';
import { clusterOf, kindNumber, membersOf, type Table, type What } from '../data/waits';
import { variantsName, whatName } from '../data/waitwords';
import { Swatch, WaitPatch } from '../parts/Swatch';
import { inRanges } from '../state/ranges';
import { select, type Selection } from '../store';

const says: Readonly<Record<string, string>> = { outside: 'before the first MPI call of a rank, while its recording was paused, or lost', MPI: 'residual: in MPI, not waiting' };

export function WhatName({ of, more = '' }: { of: What; more?: string }) {
  const id = clusterOf(of);
  return (
    <span title={says[of.what]}>
      {id === null ? null : <Swatch id={id} />} {whatText(of, more)}
    </span>
  );
}

// whatText says what a cause, or a part of the path, is, with the clusters of its kind that it is in, and more details.
export function whatText(of: What, more = ''): string {
  const details = [variantsName(of), more].filter(Boolean).join('; ');
  return whatName(of) + (details && ` (${details})`);
}

export function KindName({ of }: { of: string }) {
  return (
    <>
      <WaitPatch kind={kindNumber(of)} /> {of}
    </>
  );
}

// clustersOf are those that a row selects: all of the kind; what is in no cluster is noise, filtered, or lacks data.
export function clustersOf(t: Table, w: What): readonly number[] | null {
  const id = clusterOf(w);
  return id === null ? null : id > 0 ? membersOf(t, id) : [NOISE, FILTERED, MISSING];
}

export function threadsOf(pack: Pack, names: readonly ThreadName[]): Selection['threads'] {
  const numbers = names.map((t) => numberOf(pack, t)).filter((n) => n >= 0);
  return numbers.length > 0 ? [...new Set(numbers)].sort((a, b) => a - b).map((n) => [n, n]) : null;
}

// holds says whether one of these clusters is selected.
export function holds(s: Selection, clusters: readonly number[] | null): boolean {
  return clusters?.some((id) => s.clusters?.includes(id)) ?? false;
}

// useRanks says whether one of these ranks is selected.
export function useRanks(): (s: Selection, names: readonly ThreadName[]) => boolean {
  const pack = usePack();
  return (s, names) => s.threads !== null && names.some((t) => inRanges(s.threads, numberOf(pack, t)));
}

// toggle selects these clusters and ranks, or lifts that where they are selected.
export function toggle(now: Selection, next: Pick<Selection, 'clusters' | 'threads'>): void {
  const selected = JSON.stringify([now.clusters, now.threads]) === JSON.stringify([next.clusters, next.threads]);
  select(selected ? { clusters: null, threads: null } : next);
}
