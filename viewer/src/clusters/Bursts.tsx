// Bursts that show what a cluster is, each one click away from its place in the timeline.
import { useMemo } from 'preact/hooks';
import { usePack } from '../data/context';
import { threadName } from '../data/names';
import { cluster, ns, quantity } from '../format';
import { Heads, numbers } from '../parts/Heads';
import { Empty, Panel } from '../parts/Panel';
import { SaveTools } from '../save/SaveTools';
import { goTo } from '../store';
import { axes, exemplars } from './exemplars';

export function Bursts({ id }: { id: number }) {
  const pack = usePack();
  const rows = useMemo(() => {
    const found: number[] = [];
    pack.column('points.cluster').forEach((c, i) => {
      if (c === id) found.push(i);
    });
    return exemplars(pack, found);
  }, [pack, id]);
  const value = (name: string, i: number) => pack.column(name)[i] ?? NaN;
  const by = axes(pack).filter((d) => d.column !== 'points.duration');
  const table = () => ({
    columns: ['what', 'thread', 'start_ns', 'duration_ns', ...by.map((d) => d.name)],
    rows: rows.map(({ row, what }) => [what, threadName(pack, value('points.thread', row)), value('points.start_ns', row), value('points.duration', row), ...by.map((d) => value(d.column, row))]),
  });
  const show = (row: number) => {
    const [thread, start, duration] = ['points.thread', 'points.start_ns', 'points.duration'].map((c) => value(c, row)) as [number, number, number];
    goTo('timeline', { threads: [[thread, thread]], fromNS: Math.floor(start), toNS: Math.ceil(start + duration) });
  };
  return (
    <Panel title={`Exemplar bursts of ${cluster(id)}`} tools={<SaveTools name={`exemplars of ${cluster(id)}`} table={table} />}>
      {rows.length === 0 ? (
        <Empty>No burst of it is in this page.</Empty>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label={`Exemplar bursts of ${cluster(id)}`}>
          <table class="exemplars">
            <Heads of={['Burst', 'Of', numbers('Start'), numbers('Duration'), ...by.map((d) => numbers(d.name)), '']} />
            <tbody>
              {rows.map(({ row, what }) => (
                <tr key={row}>
                  <td>{what}</td>
                  <td>{threadName(pack, value('points.thread', row))}</td>
                  <td class="n">{ns(value('points.start_ns', row))}</td>
                  <td class="n">{ns(value('points.duration', row))}</td>
                  {by.map((d) => (
                    <td key={d.name} class="n">
                      {quantity(value(d.column, row), d.unit)}
                    </td>
                  ))}
                  <td class="n">
                    <button type="button" class="link" onClick={() => show(row)} aria-label={`Show the ${what} burst at ${ns(value('points.start_ns', row))} in the timeline`}>
                      in the timeline
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}
