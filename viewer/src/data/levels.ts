// The bursts at a step of the refinement: in which node each of them is, and the colour of that node. A node keeps the
// colour of the cluster that has most of its bursts, so that another step can be compared.
import { cluster, count } from '../format';
import { colourOf, isVariant, onTheme, PALETTE } from '../palette';
import type { Theme } from '../theme';
import { FILTERED, MISSING, NOISE, unclustered, type Clusters } from './clusters';
import { nodeAt } from './lineage';
import type { Pack } from './pack';

interface Label {
  readonly name: string;
  readonly colour: string; // on a light page
  readonly bursts: number;
  readonly seconds: number;
  readonly score: number;
}

export interface Levels {
  readonly step: number | null; // from 1; null = the answer
  readonly labels: ArrayLike<number>; // of each point: a cluster's id, at a step a node's; below 1 noise, filtered, missing data
  readonly of: ReadonlyMap<number, Label>;
  readonly fromCluster: ReadonlyMap<number, number>; // label with most of a cluster's time
  readonly colour: (label: number, theme: Theme) => string;
  readonly variant: (label: number) => boolean; // drawn hatched, or hollow
}

const known = new WeakMap<Pack, Map<number | null, Levels>>();

// labelsAt gives the bursts at a step, from 1; null, or a step that the pack does not have, is the answer.
export function labelsAt(pack: Pack, step: number | null): Levels {
  const found = known.get(pack) ?? new Map<number | null, Levels>();
  known.set(pack, found);
  let levels: Levels | null | undefined = found.get(step);
  if (!levels) {
    levels = step === null ? null : atStep(pack, step);
    found.set(step, (levels ??= answer(pack)));
  }
  return levels;
}

// hasSteps reports whether the pack has the nodes that held each burst.
export function hasSteps(pack: Pack): boolean {
  return pack.json.nodes.length > 0 && pack.column('points.node').some((n) => n >= 0);
}

function answer(pack: Pack): Levels {
  const c = pack.json.clusters;
  const of = rest(c);
  for (const k of c?.clusters ?? []) {
    of.set(k.id, { name: cluster(k.id), colour: colourOf(k.id, 'light'), bursts: k.bursts, seconds: k.seconds, score: k.score });
  }
  return { step: null, labels: pack.column('points.cluster'), of, fromCluster: new Map([...of.keys()].map((id) => [id, id])), colour: colourOf, variant: isVariant };
}

// rest are the bursts that are in no cluster.
function rest(c: Clusters | null): Map<number, Label> {
  const known = c ? unclustered(c) : [NOISE, FILTERED, MISSING].map((id) => ({ id, bursts: 0, seconds: 0, score: NaN }));
  return new Map(known.map(({ id, bursts, seconds, score }) => [id, { name: cluster(id), colour: colourOf(id, 'light'), bursts, seconds, score }]));
}

function atStep(pack: Pack, step: number): Levels | null {
  const tree = pack.json.clusters?.refinement;
  const nodes = tree?.levels[step - 1]?.nodes;
  if (!tree || !nodes) return null;
  const [clusters, lineage] = [pack.column('points.cluster'), pack.column('points.node')];
  const node = pack.json.nodes.map((text) => nodeAt(text, step));
  const main = mainClusters(tree)[step - 1] ?? new Map<number, number>();
  const fromCluster = new Map<number, number>([NOISE, FILTERED, MISSING].map((id) => [id, id]));
  for (const k of pack.json.clusters?.clusters ?? []) fromCluster.set(k.id, NOISE);
  for (const [id, to] of nodesOfClusters(tree, step)) fromCluster.set(id, to || NOISE);
  const labels = Int32Array.from(clusters, (id, i) => {
    const at = node[lineage[i] ?? -1] ?? NaN;
    return Number.isInteger(at) && at >= 0 ? at || NOISE : (fromCluster.get(id) ?? NOISE);
  });
  const of = rest(pack.json.clusters);
  const colourOfNode = colours(nodes, main);
  for (const n of nodes) {
    const name = n.id === 0 ? cluster(NOISE) : n.cluster > 0 ? cluster(n.cluster) : `node ${count(n.id)}`;
    of.set(n.id || NOISE, { name, colour: colourOfNode.get(n.id) ?? colourOf(NOISE, 'light'), bursts: n.bursts, seconds: n.seconds, score: n.score });
  }
  const colour = (label: number, theme: Theme) => (label < 1 ? colourOf(label, theme) : onTheme(of.get(label)?.colour ?? colourOf(NOISE, 'light'), theme));
  const variants = new Set(nodes.filter((n) => isVariant(n.cluster)).map((n) => n.id));
  return { step, labels, of, fromCluster, colour, variant: (label) => variants.has(label) };
}

type Tree = Clusters['refinement'];
type Node = Tree['levels'][number]['nodes'][number];

// mainClusters gives, by step, the cluster that each node becomes, or the one that it holds most time of; 0 = none.
function mainClusters(tree: Tree): Map<number, number>[] {
  const of = tree.levels.map(() => new Map<number, number>());
  const isAnswer = (n: Node, i: number) => n.id > 0 && tree.chosen[n.group] === i + 1;
  for (let i = tree.levels.length - 1; i >= 0; i--) {
    // Before the answer: what most of its bursts are in at the next step.
    const most = new Map<number, number>();
    for (const child of tree.levels[i + 1]?.nodes ?? []) {
      const to = of[i + 1]?.get(child.id) ?? 0;
      for (const p of child.parents) {
        if (to === 0 || p.bursts <= (most.get(p.id) ?? 0)) continue;
        most.set(p.id, p.bursts);
        of[i]?.set(p.id, to);
      }
    }
    for (const n of tree.levels[i]?.nodes ?? []) if (isAnswer(n, i)) of[i]?.set(n.id, n.cluster);
  }
  for (let i = 1; i < tree.levels.length; i++) {
    const before = new Map((tree.levels[i - 1]?.nodes ?? []).map((n) => [n.id, n]));
    for (const n of tree.levels[i]?.nodes ?? []) {
      if (n.id === 0 || (tree.chosen[n.group] ?? 0) >= i + 1) continue;
      const time = (p: Node['parents'][number]) => ((before.get(p.id)?.seconds ?? 0) * p.bursts) / (before.get(p.id)?.bursts ?? 1);
      const [first] = n.parents.filter((p) => (of[i - 1]?.get(p.id) ?? 0) > 0).sort((a, b) => time(b) - time(a));
      if (first) of[i]?.set(n.id, of[i - 1]?.get(first.id) ?? 0);
      else of[i]?.delete(n.id);
    }
  }
  return of;
}

// nodesOfClusters follows the clusters of the answer to a step: to what most of each one's bursts are in there, 0 =
// noise.
function nodesOfClusters(tree: Tree, step: number): Map<number, number> {
  const found = new Map<number, number>();
  tree.levels.forEach((level, i) => {
    for (const n of level.nodes) {
      if (n.cluster < 1 || tree.chosen[n.group] !== i + 1 || found.has(n.cluster)) continue;
      let [id, at] = [n.id, i];
      for (; at < step - 1; at++) id = mostOf(tree.levels[at + 1]?.nodes.flatMap((c) => c.parents.filter((p) => p.id === id).map((p) => ({ id: c.id, bursts: p.bursts }))));
      for (; at > step - 1; at--) id = mostOf(tree.levels[at]?.nodes.find((c) => c.id === id)?.parents);
      found.set(n.cluster, id);
    }
  });
  return found;
}

function mostOf(list: readonly { id: number; bursts: number }[] = []): number {
  return list.reduce((best, p) => (p.bursts > best.bursts ? p : best), { id: 0, bursts: 0 }).id;
}

// colours gives each node the colour of its main cluster. Of several nodes of one cluster that which takes longest has
// it; the others take what is free.
function colours(nodes: readonly Node[], main: ReadonlyMap<number, number>): Map<number, string> {
  const order = nodes.filter((n) => n.id > 0).sort((a, b) => b.seconds - a.seconds || a.id - b.id);
  const of = new Map<number, string>();
  const taken = new Set<number>();
  for (const n of order) {
    const id = main.get(n.id) ?? 0;
    if (id < 1 || taken.has(id)) continue;
    of.set(n.id, colourOf(id, 'light'));
    taken.add(id);
  }
  const used = new Set(of.values());
  const free = PALETTE.filter((c) => !used.has(c));
  const spare = free.length > 0 ? free : PALETTE;
  let next = 0;
  for (const n of order) if (!of.has(n.id)) of.set(n.id, spare[next++ % spare.length] ?? '#0072b2');
  return of;
}
