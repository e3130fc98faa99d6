// Where the nodes of a refinement lie: a row for each step, as wide as the time of its bursts; a node stands above what
// it becomes.
import type { Clusters } from '../data/clusters';
import { plural } from '../format';

export type Step = Clusters['refinement']['levels'][number];
export type Node = Step['nodes'][number];

// nodesOf counts what a step made of the bursts; noise is drawn and listed beside the nodes, and is none.
export function nodesOf(step: Step): string {
  return plural(step.nodes.filter((n) => n.id > 0).length, 'node');
}

export interface Box {
  readonly step: number; // from 0
  readonly node: Node;
  readonly from: number; // 0-1 of the row
  readonly to: number;
}

// A Flow is the bursts that go from a node to one of the next step.
export interface Flow {
  readonly parent: Box;
  readonly child: Box;
  readonly bursts: number;
  readonly top: readonly [number, number]; // at the parent's lower edge, 0-1 of the row
  readonly bottom: readonly [number, number];
}

export interface Layout {
  readonly boxes: readonly (readonly Box[])[]; // by step, from left to right
  readonly flows: readonly Flow[];
}

export function layout(steps: readonly Step[]): Layout {
  const orders = order(steps);
  const boxes = orders.map((nodes, step) => place(nodes, step));
  const flows: Flow[] = [];
  for (let step = 1; step < boxes.length; step++) {
    const parents = new Map((boxes[step - 1] ?? []).map((b) => [b.node.id, { box: b, at: b.from }]));
    for (const child of boxes[step] ?? []) {
      let at = child.from;
      const from = child.node.parents.flatMap((p) => {
        const parent = parents.get(p.id);
        return parent ? [{ ...p, parent }] : [];
      });
      from.sort((a, b) => a.parent.box.from - b.parent.box.from);
      for (const { bursts, parent } of from) {
        const up = (part(bursts, parent.box.node.bursts) || 0) * (parent.box.to - parent.box.from);
        const down = (part(bursts, child.node.bursts) || 0) * (child.to - child.from);
        flows.push({ parent: parent.box, child, bursts, top: [parent.at, parent.at + up], bottom: [at, at + down] });
        parent.at += up;
        at += down;
      }
    }
  }
  return { boxes, flows };
}

const part = (of: number, all: number) => (all > 0 ? of / all : 0);

// order lays the nodes of the last step by their time, noise last, and those of each step before above what most of
// their bursts become.
function order(steps: readonly Step[]): Node[][] {
  const orders: Node[][] = [];
  for (let step = steps.length - 1; step >= 0; step--) {
    const below = orders[0];
    const place = new Map<number, { at: number; bursts: number }>();
    below?.forEach((child, at) => {
      for (const p of child.parents) if (p.bursts > (place.get(p.id)?.bursts ?? 0)) place.set(p.id, { at, bursts: p.bursts });
    });
    const rank = (n: Node) => place.get(n.id)?.at ?? Infinity;
    const nodes = [...(steps[step]?.nodes ?? [])].sort(
      (a, b) => Number(a.id === 0) - Number(b.id === 0) || (below ? rank(a) - rank(b) : 0) || b.seconds - a.seconds || a.id - b.id,
    );
    orders.unshift(nodes);
  }
  return orders;
}

function place(nodes: readonly Node[], step: number): Box[] {
  const total = nodes.reduce((sum, n) => sum + n.seconds, 0);
  const all = nodes.reduce((sum, n) => sum + n.bursts, 0);
  let at = 0;
  return nodes.map((node) => {
    // Where no burst has a length their number counts, as in the score.
    const wide = total > 0 ? node.seconds / total : part(node.bursts, all);
    const box = { step, node, from: at, to: at + wide };
    at += wide;
    return box;
  });
}

// chosenOf says which steps are the answer, from 1, and of how many groups.
export function chosenOf(c: Clusters): Map<number, number> {
  const of = new Map<number, number>();
  for (const step of c.refinement.chosen) of.set(step, (of.get(step) ?? 0) + 1);
  return of;
}
