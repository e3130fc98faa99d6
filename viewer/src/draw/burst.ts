// A burst in words and figures, as tooltips and the line below a drawing say it.
import { MISSING } from '../data/clusters';
import { pathName, threadName } from '../data/names';
import type { Pack } from '../data/pack';
import { cluster, count, ns, quantity } from '../format';
import { lineOfBurst, modelOf, titleOf } from '../program/model';

export type Row = readonly [label: string, value: string];

export function burstTitle(pack: Pack, row: number): string {
  return `${cluster(pack.column('points.cluster')[row] ?? MISSING)} · ${threadName(pack, pack.column('points.thread')[row] ?? 0)}`;
}

export function burstRows(pack: Pack, row: number): Row[] {
  const value = (name: string) => pack.column(name)[row] ?? NaN;
  const rows: Row[] = [
    ['duration', ns(value('points.duration'))],
    ['start', ns(value('points.start_ns'))],
  ];
  pack.json.dimensions.forEach(({ name, unit, column }) => {
    if (column !== 'points.duration' && column !== 'points.start_ns' && pack.has(column)) rows.push([name, quantity(value(column), unit)]);
  });
  const [before, after] = [value('points.before'), value('points.after')];
  if (before >= 0) rows.push(['after', pathName(pack, before)]);
  if (after >= 0) rows.push(['before', pathName(pack, after)]);
  const program = modelOf(pack);
  const line = program?.lines[lineOfBurst(pack, row)];
  if (program && line) rows.push(['in the program', titleOf(program, line)]);
  const weight = value('points.weight');
  if (weight > 1) rows.push(['represents', `${count(weight)} bursts`]);
  return rows;
}
