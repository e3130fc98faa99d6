// The profile as a tree: what ran in what, and how wide each frame is in the picture.
import type { Pack } from '../data/pack';
import { TYPES, type FrameType, type Profile } from '../data/profile';
import { cluster } from '../format';

export type By = 'phase' | 'path';

export interface Tree {
  readonly by: By;
  readonly n: number;
  readonly type: readonly FrameType[];
  readonly parent: ArrayLike<number>;
  readonly cluster: ArrayLike<number>;
  readonly ns: ArrayLike<number>; // of all threads, with the frames in it
  readonly own: Float64Array; // without the phases and functions in it
  readonly calls: ArrayLike<number>; // NaN = not known
  readonly most: ArrayLike<number>; // NaN = not known: call paths are summed over classes of ranks
  readonly whose: ArrayLike<number>; // thread with the most, -1 = none, or not known
  readonly threads: ArrayLike<number>; // that have it, -1 = not known
  readonly classes: readonly ArrayLike<number>[]; // likewise of all threads of a class
  readonly label: readonly string[];
  readonly place: readonly string[]; // where a call is made, empty = unknown
  readonly children: readonly (readonly number[])[]; // those with the most time first
  readonly turn: Int32Array; // of a phase: which of them it is
  readonly key: readonly string[]; // differs from those of the other frames within its parent
}

// isInner says of a frame that it is round others: a phase or a function.
export const isInner = (type: FrameType) => type === 'program' || type === 'phase' || type === 'iterations' || type === 'function';

const known = new WeakMap<Pack, Map<By, Tree | null>>();

// treeOf is a tree of the page; null: there is none.
export function treeOf(pack: Pack, by: By): Tree | null {
  const trees = known.get(pack) ?? new Map<By, Tree | null>();
  known.set(pack, trees);
  let tree = trees.get(by);
  if (tree === undefined) trees.set(by, (tree = pack.json.profile ? build(pack, pack.json.profile, by) : null));
  return tree;
}

function build(pack: Pack, p: Profile, by: By): Tree | null {
  const of = (name: string) => pack.column(`profile.${by}.${name}`);
  const n = of('type').length;
  if (n === 0) return null;
  const type = Array.from(of('type'), (t) => TYPES[t]!);
  const [parent, name, place, id, ns] = [of('parent'), of('name'), of('place'), of('cluster'), of('ns')];
  const own = Float64Array.from(ns);
  let inner = 0;
  const turn = Int32Array.from(type, (t) => (isInner(t) ? inner++ : 0));
  const children: number[][] = Array.from({ length: n }, () => []);
  for (let i = 1; i < n; i++) {
    children[parent[i]!]!.push(i);
    if (isInner(type[i]!)) own[parent[i]!] = own[parent[i]!]! - ns[i]!;
  }
  for (const list of children) list.sort((a, b) => ns[b]! - ns[a]! || a - b);
  const label = type.map((t, i) => labelOf(t, p.names[name[i]!] ?? '', id[i]!));
  const where = Array.from(place, (k) => p.names[k] ?? '');
  const key = new Array<string>(n).fill('');
  for (const list of children) {
    const taken = new Map<string, number>();
    for (const i of [...list].sort((a, b) => a - b)) {
      const text = where[i] ? `${label[i]!}@${where[i]}` : label[i]!;
      const times = (taken.get(text) ?? 0) + 1;
      taken.set(text, times);
      key[i] = times > 1 ? `${text}~${times}` : text;
    }
  }
  const classes: ArrayLike<number>[] = [];
  while (pack.has(`profile.${by}.class.${classes.length}`)) classes.push(of(`class.${classes.length}`));
  return { by, n, type, parent, cluster: id, ns, own, calls: of('calls'), most: of('most'), whose: of('whose'), threads: of('threads'), classes, label, place: where, children, turn, key };
}

function labelOf(type: FrameType, name: string, id: number): string {
  if (type === 'cluster') return cluster(id);
  if (type === 'iterations') return iterationsName(id);
  if (type === 'program' || type === 'paused' || type === 'others') return type;
  if (type === 'unrecorded') return 'not recorded';
  return name || '(no name)';
}

// iterationsName names a phase of iterations by its index, with the number that the summary gives it.
export const iterationsName = (index: number) => `iterations of phase ${index}`;

// fullName names a frame with the place of a call.
export const fullName = (t: Tree, i: number) => (t.place[i] ? `${t.label[i]!}@${t.place[i]}` : t.label[i]!);

// stackOf are the frames from the root to a frame.
export function stackOf(t: Tree, frame: number): number[] {
  const list: number[] = [];
  for (let i = frame; i >= 0; i = t.parent[i]!) list.push(i);
  return list.reverse();
}

const escaped = (text: string) => text.replace(/[\\/]/g, '\\$&');

// pathOf is a frame as text, for the address: the root is empty.
export const pathOf = (t: Tree, frame: number) => stackOf(t, frame).slice(1).map((i) => escaped(t.key[i]!)).join('/');

// splitPath takes such a text apart.
export function splitPath(path: string): string[] {
  const names: string[] = [];
  let name = '';
  for (let i = 0; i < path.length; i++) {
    if (path[i] === '\\' && i + 1 < path.length) name += path[++i]!;
    else if (path[i] === '/') {
      names.push(name);
      name = '';
    } else name += path[i]!;
  }
  return path === '' ? [] : [...names, name];
}

// frameOf finds the frame of a text, or the innermost of those round it that is there.
export function frameOf(t: Tree, path: string): number {
  let at = 0;
  for (const name of splitPath(path)) {
    const next = t.children[at]!.find((i) => t.key[i] === name);
    if (next === undefined) break;
    at = next;
  }
  return at;
}

// below are a frame and all in it, each behind the one round it.
export function below(t: Tree, frame: number): number[] {
  const list = [frame];
  for (let k = 0; k < list.length; k++) for (const i of t.children[list[k]!]!) list.push(i);
  return list;
}

// kindsIn are the kinds of computation in a frame, by the clusters that stand for them, those with the most time first.
export function kindsIn(t: Tree, frame: number): number[] {
  const time = new Map<number, number>();
  for (const i of below(t, frame)) if (t.type[i] === 'cluster') time.set(t.cluster[i]!, (time.get(t.cluster[i]!) ?? 0) + t.ns[i]!);
  return [...time].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([id]) => id);
}

// A Box is a frame in the picture, or several beside each other that are too narrow to draw.
export interface Box {
  readonly frame: number; // of several the first
  readonly several: number; // 0: the frame alone
  readonly ns: number;
  readonly row: number;
  readonly x: number;
  readonly width: number;
}

export const NARROW = 1.5; // px

// layout places the frames below a root, which is as wide as the picture, as are those round it above it.
export function layout(t: Tree, root: number, width: number): { boxes: Box[]; rows: number } {
  const boxes: Box[] = [];
  const stack = stackOf(t, root);
  stack.forEach((frame, row) => boxes.push({ frame, several: 0, ns: t.ns[frame]!, row, x: 0, width }));
  let rows = stack.length;
  const scale = t.ns[root]! > 0 ? width / t.ns[root]! : 0;
  let level = [{ frame: root, x: 0 }];
  for (let row = stack.length; level.length > 0; row++) {
    const next: typeof level = [];
    for (const { frame, x: from } of level) {
      let x = from;
      const small: number[] = [];
      let narrow = 0;
      for (const i of t.children[frame]!) { // the widest first
        const wide = t.ns[i]! * scale;
        if (wide >= NARROW) {
          boxes.push({ frame: i, several: 0, ns: t.ns[i]!, row, x, width: wide });
          next.push({ frame: i, x });
          x += wide;
        } else if (t.ns[i]! > 0) {
          small.push(i);
          narrow += t.ns[i]!;
        }
      }
      if (small.length > 0 && narrow * scale > 0.2) boxes.push({ frame: small[0]!, several: small.length > 1 ? small.length : 0, ns: narrow, row, x, width: narrow * scale });
    }
    if (boxes.at(-1)!.row >= row) rows = row + 1;
    level = next;
  }
  return { boxes, rows };
}

// matching are the frames of a tree with a text in their names; null: nothing is looked for.
export function matching(t: Tree, text: string): Set<number> | null {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return null;
  const found = new Set<number>();
  for (let i = 0; i < t.n; i++) if (fullName(t, i).toLowerCase().includes(wanted)) found.add(i);
  return found;
}

// timeOf is what the frames that were found have of the time of a root: one in another counts once.
export function timeOf(t: Tree, found: ReadonlySet<number>, root: number): number {
  let sum = 0;
  const open = [root];
  for (let i = open.pop(); i !== undefined; i = open.pop()) {
    if (found.has(i)) sum += t.ns[i]!;
    else open.push(...t.children[i]!);
  }
  return sum;
}

// imbalance is the largest over the mean of the threads that have the frame.
export const imbalance = (t: Tree, i: number) => (t.most[i]! * t.threads[i]!) / t.ns[i]!;

// timesOf says what a frame's number of calls is a number of.
export function timesOf(type: FrameType): 'call' | 'burst' | 'instance' | 'interval' {
  if (type === 'cluster') return 'burst';
  if (type === 'phase' || type === 'iterations') return 'instance';
  return type === 'paused' || type === 'unrecorded' ? 'interval' : 'call';
}
