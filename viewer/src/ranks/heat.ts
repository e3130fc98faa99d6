// The heat map's numbers: how a quantity of each rank and cluster compares, and what colour says so.
import { median } from '../data/groups';
import { mixed, type RGB } from '../rgb';
import type { Theme } from '../theme';

export interface Heat {
  readonly ids: readonly number[]; // clusters, a row each
  readonly rows: readonly Float64Array[]; // values by group
  readonly shown: readonly Float64Array[]; // what is coloured: the value, or how it differs from the row's median as part of that
  readonly relative: boolean;
  readonly most: number; // of shown, where colours end
}

export function heatOf(of: ReadonlyMap<number, Float64Array>, relative: boolean): Heat {
  const ids = [...of.keys()].sort((a, b) => Number(a < 1) - Number(b < 1) || (a < 1 ? b - a : a - b));
  const rows = ids.map((id) => of.get(id) ?? new Float64Array(0));
  const shown = rows.map((row) => {
    const middle = median(row);
    return relative ? row.map((v) => (middle > 0 ? v / middle - 1 : v > 0 ? 1 : 0)) : row;
  });
  const sizes = shown.flatMap((row) => [...row].map(Math.abs)).sort((a, b) => a - b);
  // One rank far away must not make all others look alike.
  const high = sizes[Math.floor(0.98 * (sizes.length - 1))] ?? 0;
  const most = relative ? Math.min(1, Math.max(0.05, high)) : (sizes.at(-1) ?? 0) || 1;
  return { ids, rows, shown, relative, most };
}

const ends: Record<Theme, { less: RGB; none: RGB; more: RGB }> = {
  light: { less: [0, 114, 178], none: [240, 240, 238], more: [196, 78, 0] },
  dark: { less: [79, 168, 221], none: [42, 45, 49], more: [238, 139, 74] },
};

// colourAt gives the colour of a shown value: towards one end for more, towards the other for less than the median.
export function colourAt(value: number, most: number, theme: Theme): RGB {
  const { less, none, more } = ends[theme];
  const t = Math.min(1, Math.abs(value) / most);
  const to = value < 0 ? less : more;
  return mixed(to, none, t);
}
