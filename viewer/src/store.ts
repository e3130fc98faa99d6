// What the user looks at: the view, the selection that all views share, and what each view keeps for itself. The
// address always says it, and a changed address changes it.
import { useCallback } from 'preact/hooks';
import { NOTHING, parseState, printState, type Selection, type State } from './state/hash';
import { inRanges } from './state/ranges';
import { Signal, useSignal } from './state/signal';

export type { Selection } from './state/hash';

export const view = new Signal('');
export const selection = new Signal<Selection>(NOTHING);
const params = new Signal<ReadonlyMap<string, string>>(new Map());

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

// select changes a part of the selection; null lifts that part.
export function select(part: Partial<Selection>): void {
  const next: Selection = { ...selection.value, ...part };
  if (same(next, selection.value)) return;
  selection.value = next;
  write();
}

export function clearSelection(): void {
  select(NOTHING);
}

export function isSelected(s: Selection): boolean {
  return !same(s, NOTHING);
}

// holds says whether a burst is in the selection.
export function holds(s: Selection, cluster: number, thread: number, startNS: number, endNS: number): boolean {
  return (
    (s.clusters === null || s.clusters.includes(cluster)) &&
    inRanges(s.threads, thread) &&
    (s.fromNS === null || endNS >= s.fromNS) &&
    (s.toNS === null || startNS <= s.toNS)
  );
}

// toggleCluster adds a cluster to those selected or takes it away; with only, it becomes the only one.
export function toggleCluster(id: number, only = false): void {
  const now = selection.value.clusters ?? [];
  if (only) select({ clusters: now.length === 1 && now[0] === id ? null : [id] });
  else if (now.includes(id)) select({ clusters: now.length === 1 ? null : now.filter((c) => c !== id) });
  else select({ clusters: [...now, id] });
}

export function goTo(id: string, part: Partial<Selection> = {}): void {
  select(part);
  if (id === view.value) return;
  view.value = id;
  history.pushState(null, '', `#${printState(state())}`);
}

export function useSelection(): Selection {
  return useSignal(selection);
}

// useParam keeps a word of a view in the address. The fallback is not written there.
export function useParam(name: string, fallback: string): [string, (value: string) => void] {
  const all = useSignal(params);
  const set = useCallback(
    (value: string) => {
      setParam(name, value === fallback ? null : value);
    },
    [name, fallback],
  );
  return [all.get(name) ?? fallback, set];
}

function setParam(name: string, value: string | null): void {
  if ((params.value.get(name) ?? null) === value) return;
  const next = new Map(params.value);
  if (value === null) next.delete(name);
  else next.set(name, value);
  params.value = next;
  write();
}

function state(): State {
  return { view: view.value, selection: selection.value, params: params.value };
}

// Browsers refuse to take more than a hundred addresses in half a minute, and dragging makes more.
let waiting = 0;
function write(): void {
  if (waiting) return;
  waiting = window.setTimeout(() => {
    waiting = 0;
    history.replaceState(null, '', `#${printState(state())}`);
  }, 200);
}

// follow takes the state from the address, now and whenever it changes.
export function follow(): void {
  const read = () => {
    const said = parseState(location.hash);
    params.value = said.params;
    selection.value = same(said.selection, selection.value) ? selection.value : said.selection;
    view.value = said.view;
  };
  read();
  addEventListener('hashchange', read);
  addEventListener('popstate', read);
}
