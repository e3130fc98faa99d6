// Who and what waits are of, and what a row of them selects.
import { usePack } from '../data/context';
import { FILTERED, MISSING, NOISE } from '../data/clusters';
import type { ThreadName } from '../data/manifest';
import { nameOf, numberOf } from '../data/names';
import type { Pack } from '../data/pack';
import { clusterOf, kindNumber, type Cause } from '../data/waits';
import { cluster } from '../format';
import { Swatch, WaitPatch } from '../parts/Swatch';
import { inRanges } from '../state/ranges';
import { select, type Selection } from '../store';

type What = Pick<Cause, 'what' | 'cluster'>;

export const who = (pack: Pack, t: ThreadName) => nameOf(t, (pack.json.manifest?.worlds.length ?? 0) > 1);

// whatName says what a cause, or a part of the path, is.
export function whatName(w: What): string {
  const id = clusterOf(w);
  if (id !== null) return id > 0 ? cluster(id) : 'in no cluster';
  return w.what === 'outside' ? 'not recorded' : w.what;
}

export function WhatName({ of }: { of: What }) {
  const id = clusterOf(of);
  return (
    <span title={of.what === 'outside' ? 'before the first record of the rank, or paused, or lost' : of.what === 'MPI' ? 'time in MPI calls without waiting' : undefined}>
      {id === null ? null : <Swatch id={id} />} {whatName(of)}
    </span>
  );
}

export function KindName({ of }: { of: string }) {
  return (
    <>
      <WaitPatch kind={kindNumber(of)} /> {of}
    </>
  );
}

// clustersOf are those that a row selects: what is in no cluster is noise, filtered, or lacks data.
export function clustersOf(w: What): number[] | null {
  const id = clusterOf(w);
  return id === null ? null : id > 0 ? [id] : [NOISE, FILTERED, MISSING];
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
