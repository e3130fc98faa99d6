// Who and what waits are of, and what a row of them selects.
import { useMemo } from 'preact/hooks';
import { usePack } from '../data/context';
import { FILTERED, kindsIn, MISSING, NOISE, type Kinds } from '../data/clusters';
import type { ThreadName } from '../data/manifest';
import { nameOf, numberOf } from '../data/names';
import type { Pack } from '../data/pack';
import { clusterOf, kindNumber, OTHERS, type What } from '../data/waits';
import { cluster } from '../format';
import { isVariant } from '../palette';
import { Swatch, WaitPatch } from '../parts/Swatch';
import { inRanges } from '../state/ranges';
import { select, type Selection } from '../store';

export const who = (pack: Pack, t: ThreadName) => nameOf(t, (pack.json.manifest?.worlds.length ?? 0) > 1);

// whatName says what a cause, or a part of the path, is.
export function whatName(w: What): string {
  const id = clusterOf(w);
  if (id !== null) return id > 0 ? cluster(id) : 'in no cluster';
  return w.what === 'outside' ? 'not recorded' : w.what;
}

const says: Readonly<Record<string, string>> = { outside: 'before the first record of the rank, or paused, or lost', MPI: 'time in MPI calls without waiting', [OTHERS]: 'parts that are not listed: the file has the largest, none below 0.1 % of the path' };

export function WhatName({ of }: { of: What }) {
  const id = clusterOf(of);
  return (
    <span title={says[of.what]}>
      {id === null ? null : <Swatch id={id} />} {whatName(of)}
    </span>
  );
}

// memberName names a cluster below its kind.
export function memberName(of: What): string {
  const id = clusterOf(of) ?? 0;
  return isVariant(id) ? `variant: ${cluster(id)}` : `${cluster(id)} itself`;
}

export function MemberName({ of }: { of: What }) {
  return (
    <span class="name">
      <Swatch id={clusterOf(of) ?? 0} /> {memberName(of)}
    </span>
  );
}

// useKindsIn has the kinds of computation of the run.
export function useKindsIn(): Kinds {
  const { clusters } = usePack().json;
  return useMemo(() => kindsIn(clusters), [clusters]);
}

export function KindName({ of }: { of: string }) {
  return (
    <>
      <WaitPatch kind={kindNumber(of)} /> {of}
    </>
  );
}

// clustersOf are those that a row selects: all of the kind; what is in no cluster is noise, filtered, or lacks data.
export function clustersOf(w: What, kinds: Kinds): readonly number[] | null {
  const id = clusterOf(w);
  return id === null ? null : id > 0 ? kinds.members(kinds.of(id)) : [NOISE, FILTERED, MISSING];
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
