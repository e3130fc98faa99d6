// What the data say, in sentences, what matters most first. Each figure is computed from the pack; docs/viewer.md has
// the thresholds.
import { cluster as clusterName, count, ns, percent, plural, ratio, seconds } from '../format';
import type { Selection } from '../state/hash';
import { FILTERED, MISSING, NOISE, unclustered, type Cluster } from './clusters';
import { partsOf } from './efficiency';
import { groupsOf, median, secondsIn, type Group } from './groups';
import type { Manifest } from './manifest';
import { nameOf, numberOf, shortPath, threadName, threadsName } from './names';
import type { Pack } from './pack';
import { clusterOf as computed, membersOf, onlyCollectives, pathBy, scopesOf, type Cause } from './waits';
import { did, locationOf, whatName, who } from './waitwords';

interface Finding {
  readonly text: string;
  readonly show?: { readonly view: string; readonly selection: Partial<Selection> };
  readonly cluster?: number;
}

// A cluster counts where it has this share of the computing time.
const MATTERS = 0.02;

// So many ranks that are unlike their class, and that are slow in a cluster, have a sentence each.
const [OUTLIERS, SLOW] = [3, 3];

export function findings(pack: Pack): Finding[] {
  const groups = groupsOf(pack);
  return [
    ...largest(pack),
    ...balance(pack),
    ...causes(pack),
    ...criticalPath(pack),
    ...outliers(pack),
    ...slowRanks(pack, groups),
    ...waiting(pack, groups),
    ...phases(pack),
    ...ipc(pack),
    ...spread(pack),
    ...outside(pack),
  ];
}

// between says between which calls most of a cluster's bursts lie.
export function between({ before, after }: Cluster): string {
  const [from, to] = [before, after].map(([path]) => shortPath(path?.name ?? ''));
  if (!from || !to) return '';
  return from === to ? `between two calls of ${from}` : `between ${from} and ${to}`;
}

function largest(pack: Pack): Finding[] {
  const [c] = pack.json.clusters?.clusters ?? [];
  if (!c) return [];
  const where = between(c);
  return [
    {
      text: `Cluster ${c.id} takes ${percent(c.share)} of the computing time: ${plural(c.bursts, 'burst')} of ${ns(c.mean_ns)} on average${where && `, mostly ${where}`}.`,
      cluster: c.id,
      show: { view: 'clusters', selection: { clusters: [c.id] } },
    },
  ];
}

// balance reports the load balance of efficiency.json, who computes most, and the cluster in which most is lost.
function balance(pack: Pack): Finding[] {
  const e = pack.json.efficiency;
  if (!e || e.locations < 2 || !(e.load_balance > 0)) return [];
  const n = e.most_computing ? numberOf(pack, e.most_computing) : -1;
  if (e.load_balance > 0.98 || !e.most_computing) {
    return [{ text: `The ranks compute for about equal times: load balance ${percent(e.load_balance)}.`, show: { view: 'ranks', selection: {} } }];
  }
  const [within] = partsOf(e);
  const [c] = (within?.kinds ?? []).filter((k) => Number.isFinite(k.lost_seconds)).sort((x, y) => y.lost_seconds - x.lost_seconds);
  const where = c && c.lost_seconds > 0 ? `; most is lost in cluster ${c.id}: ${seconds(c.lost_seconds)}` : '';
  const text = `Within ${within?.title ?? e.within} the load balance is ${percent(e.load_balance)}: ${n < 0 ? nameOf(e.most_computing, e.worlds.length > 0) : threadName(pack, n)} computes for ${seconds(e.most_computing_seconds)}, ranks on average for ${seconds(e.mean_computing_seconds)}${where}.`;
  return [{ text, show: { view: 'ranks', selection: n < 0 ? {} : { threads: [[n, n]] } } }];
}

// So many causes of waits have a sentence each, of those that have this share of the time of all threads.
const CAUSES = 3;
const COSTS = 0.01;

// causes reports who makes others wait, and by what.
function causes(pack: Pack): Finding[] {
  const [scope] = scopesOf(pack.json.waits);
  if (!scope) return [];
  const { table: t, within } = scope;
  const cost = t.causes.filter((c) => c.seconds >= COSTS * t.locations * t.seconds);
  const of = (c: Cause): Finding => {
    const n = numberOf(pack, c);
    const id = computed(c);
    const where = onlyCollectives(t) ? ' in collectives' : '';
    return {
      text: `${within} ${who(pack, t, c)} makes others wait ${seconds(c.seconds)}${where} (${percent(c.share)} of all waits): ${did(t, c)}.`,
      ...(id !== null && id > 0 && { cluster: id }),
      show: { view: 'waits', selection: { clusters: id !== null && id > 0 ? membersOf(t, id) : null, threads: n < 0 ? null : [[n, n]] } },
    };
  };
  return reported(cost, CAUSES, of, 'waits', (n) => `${plural(n, 'more cause')} of waits ${n === 1 ? 'costs' : 'cost'} 1 % of the time of all ranks or more.`);
}

// reported has a sentence for each of the first ones, and one for how many more there are, which leads to a view.
function reported<T>(all: readonly T[], most: number, of: (one: T) => Finding, view: string, more: (n: number) => string): Finding[] {
  const rest = all.length - most;
  return [...all.slice(0, most).map(of), ...(rest > 0 ? [{ text: more(rest), show: { view, selection: {} } }] : [])];
}

// criticalPath reports what most of the critical path is.
function criticalPath(pack: Pack): Finding[] {
  const [scope] = scopesOf(pack.json.waits);
  const parts = scope ? pathBy(scope.table).filter((p) => p.share >= COSTS) : [];
  const [first] = parts;
  if (!scope || !first) return [];
  const named = parts.slice(0, 4).map((p) => `${percent(p.share)} ${whatName(p)}${p.of.length > 1 ? ' with its variants' : ''}`);
  const { changes } = scope.table.critical_path;
  const id = computed(first);
  return [
    {
      text: `${scope.within} the critical path is ${named.join(', ')}${Number.isFinite(changes) ? `, with ${plural(changes, 'change')} of ${locationOf(scope.table)}` : ''}.`,
      ...(id !== null && id > 0 && { cluster: id }),
      show: { view: 'waits', selection: {} },
    },
  ];
}

// slowRanks reports who spends 10 % more in a cluster than the median of its class, and 1 % of its computing time more.
function slowRanks(pack: Pack, groups: readonly Group[]): Finding[] {
  const found: { group: Group; cluster: number; seconds: number; usual: number }[] = [];
  for (const c of pack.json.clusters?.clusters ?? []) {
    if (c.share < MATTERS) continue;
    const spent = secondsIn(pack, c.id);
    for (const members of classesOf(groups)) {
      if (members.length < 3) continue;
      const usual = median(members.map((i) => spent[i] ?? 0));
      for (const i of members) {
        const [group, s] = [groups[i], spent[i] ?? 0];
        if (group && !saidOf(pack, group, c.id) && usual > 0 && s > usual * 1.1 && s - usual > 0.01 * group.computing) found.push({ group, cluster: c.id, seconds: s, usual });
      }
    }
  }
  found.sort((a, b) => b.seconds - b.usual - (a.seconds - a.usual));
  const of = ({ group, cluster, seconds: s, usual }: (typeof found)[number]): Finding => {
    const who = threadsName(pack, [[group.first, group.last]]);
    return {
      text: `${capital(who)} ${group.size > 1 ? 'spend' : 'spends'} ${percent(s / usual - 1)} more in cluster ${cluster} than ${group.class < 0 ? 'the others' : group.size > 1 ? 'their class' : 'its class'}: ${seconds(s)} where the median is ${seconds(usual)}.`,
      cluster,
      show: { view: 'ranks', selection: { clusters: [cluster], threads: [[group.first, group.last]] } },
    };
  };
  return reported(found, SLOW, of, 'ranks', (n) => `${count(n)} more ${n === 1 ? 'pair of rank and cluster is' : 'pairs of rank and cluster are'} off by over 10 %.`);
}

// saidOf says whether the manifest has a rank as unlike its class for its time in a cluster: outliers names it then.
function saidOf(pack: Pack, { first, last }: Group, cluster: number): boolean {
  const said = pack.json.manifest?.kept.outliers.slice(0, OUTLIERS) ?? [];
  return first === last && said.some((o) => numberOf(pack, o) === first && clusterOf(o) === cluster);
}

// clusterOf is the cluster in which a rank computes unlike its class; undefined: it is something else, or the manifest,
// of an older version, does not say what.
function clusterOf({ cause, cluster }: Manifest['kept']['outliers'][number]): number | undefined {
  return cause === 'computing' && cluster > 0 ? cluster : undefined;
}

function classesOf(groups: readonly Group[]): number[][] {
  const by = new Map<number, number[]>();
  groups.forEach((g, i) => {
    const members = by.get(g.class);
    if (members) members.push(i);
    else by.set(g.class, [i]);
  });
  return [...by.values()];
}

function waiting(pack: Pack, groups: readonly Group[]): Finding[] {
  const share = (g: Group) => g.inMPI / (g.inMPI + g.computing);
  const known = groups.filter((g) => Number.isFinite(share(g)));
  const [one] = known;
  if (!one) return [];
  const e = pack.json.efficiency;
  const budget = (e?.stretches.find((s) => s.within === 'run') ?? e)?.budget; // of ranks the sums of the whole run are here
  const inMPI = budget?.mpi_seconds ?? NaN;
  const of = inMPI / (budget?.total_seconds ?? NaN);
  if (!Number.isFinite(of)) return [];
  const most = known.reduce((a, b) => (share(b) > share(a) ? b : a), one);
  const least = known.reduce((a, b) => (share(b) < share(a) ? b : a), one);
  let text = `Over the whole run ${percent(of)} of the ranks' time is in MPI`;
  if (share(most) - share(least) > 0.02) {
    text += `, from ${percent(share(least))} (${threadsName(pack, [[least.first, least.last]])}) to ${percent(share(most))} (${threadsName(pack, [[most.first, most.last]])})`;
  }
  const late = pack.json.manifest?.messages.late_sender_seconds ?? NaN;
  if (late > 0.01 * inMPI) text += `; ${percent(late / inMPI)} of that is waiting for late senders`;
  return [{ text: `${text}.`, show: { view: 'ranks', selection: {} } }];
}

type Inner = Manifest['kept']['phases'][number]['inner'];

// loops describes the loops within an iteration, and the first loop within a trip of each.
function loops(inner: Inner): string {
  const times = (l: Inner[number]) => `${l.min_trips < l.max_trips ? `${count(l.min_trips)} to ` : ''}${plural(l.max_trips, 'time')}`;
  const come = (l: Inner[number]) => `${plural(l.period_bursts, 'burst')} ${l.period_bursts === 1 ? 'comes' : 'come'} ${times(l)}`;
  const outer = inner.flatMap((l, at) => (l.depth === 1 ? [{ l, within: inner[at + 1] }] : []));
  const said = outer.slice(0, 3).map(({ l, within }) => come(l) + (within && within.depth > 1 ? ` (in each of which ${come(within)})` : ''));
  if (outer.length > said.length) said.push(`and so do ${plural(outer.length - said.length, 'other loop')}`);
  return said.length > 0 ? ` Within an iteration ${said.join(', ')}.` : '';
}

// phases reports what repeats in each of the longest phases that do, in the order of time.
function phases(pack: Pack): Finding[] {
  const m = pack.json.manifest;
  if (!m) return [];
  const repeating = m.kept.phases.filter((p) => p.iterations > 0).sort((a, b) => b.end_ns - b.begin_ns - (a.end_ns - a.begin_ns));
  if (repeating.length === 0) return m.kept.phases.length > 0 ? [{ text: 'Nothing in the run repeats three times in a row: it has no iterations.' }] : [];
  const longest = repeating.slice(0, 3).sort((a, b) => a.begin_ns - b.begin_ns);
  const more = repeating.length > longest.length ? `, of ${count(repeating.length)} phases that repeat one of the ${count(longest.length)} longest` : '';
  return longest.map((p, i) => ({
    text: `${i === 0 ? 'The run repeats' : 'Then it repeats differently'}: ${plural(p.iterations, 'iteration')} of ${plural(p.period_bursts, 'burst')}, ${ns(p.median_ns)} each, from ${ns(p.begin_ns)} to ${ns(p.end_ns)}${more}. ${percent(p.agreement)} of the bursts match the usual iteration.${loops(p.inner)}`,
    show: { view: 'timeline', selection: { fromNS: p.begin_ns, toNS: p.end_ns } },
  }));
}

// ipc reports which of the clusters that matter has the fewest instructions per cycle.
function ipc(pack: Pack): Finding[] {
  const rated = (pack.json.efficiency?.clusters ?? []).filter((c) => c.share >= MATTERS && Number.isFinite(c.ipc));
  if (rated.length < 2) return [];
  const low = rated.reduce((a, b) => (b.ipc < a.ipc ? b : a));
  const high = rated.reduce((a, b) => (b.ipc > a.ipc ? b : a));
  if (low.ipc > 0.8 * high.ipc) return [];
  return [
    {
      text: `Cluster ${low.id} completes ${ratio(low.ipc)} instructions a cycle, the least of those that matter; cluster ${high.id} completes ${ratio(high.ipc)}.`,
      cluster: low.id,
      show: { view: 'space', selection: { clusters: [low.id, high.id] } },
    },
  ];
}

// spread reports clusters whose bursts differ in length by a quarter.
function spread(pack: Pack): Finding[] {
  const wide = (pack.json.clusters?.clusters ?? []).filter((c) => c.share >= MATTERS && c.std_ns > 0.25 * c.mean_ns);
  return wide.slice(0, 2).map((c) => ({
    text: `Bursts of cluster ${c.id} differ in length: ${ns(c.mean_ns)} ± ${ns(c.std_ns)} (one standard deviation).`,
    cluster: c.id,
    show: { view: 'clusters', selection: { clusters: [c.id] } },
  }));
}

function outside(pack: Pack): Finding[] {
  const c = pack.json.clusters;
  const parts = c ? unclustered(c).filter(({ share }) => share >= 0.01) : [];
  if (parts.length === 0) return [];
  const said = parts.map(({ id, share, bursts }) => `${percent(share)} is ${clusterName(id)} (${plural(bursts, 'burst')})`);
  return [{ text: `Not in a cluster: of the computing time, ${said.join(', ')}.`, show: { view: 'space', selection: { clusters: [NOISE, FILTERED, MISSING] } } }];
}

// outliers reports why ranks are unlike their class, the first of them each.
function outliers(pack: Pack): Finding[] {
  const m = pack.json.manifest;
  if (!m) return [];
  const worlds = m.worlds.length > 1;
  const of = (o: (typeof m.kept.outliers)[number]): Finding => {
    const n = numberOf(pack, o);
    const text = `${capital(n < 0 ? nameOf(o, worlds) : threadName(pack, n))} is unlike its class: it ${o.reason}.`;
    const cluster = clusterOf(o);
    const show: Finding['show'] = { view: 'ranks', selection: { ...(cluster && { clusters: [cluster] }), threads: [[n, n]] } };
    return { text, ...(cluster && { cluster }), ...(n >= 0 && { show }) };
  };
  return reported(m.kept.outliers, OUTLIERS, of, 'ranks', (n) => `${plural(n, 'more rank')} ${n === 1 ? 'is unlike its' : 'are unlike their'} class.`);
}

function capital(s: string): string {
  return s.slice(0, 1).toUpperCase() + s.slice(1);
}
