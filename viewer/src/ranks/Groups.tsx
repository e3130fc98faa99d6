// Nodes and classes of ranks: how much each computes, and is in MPI.
import type { NodeOrClass } from '../data/efficiency';
import { usePack } from '../data/context';
import { count, percent, seconds } from '../format';
import { Heads, numbers } from '../parts/Heads';
import { Panel } from '../parts/Panel';
import { usePart, Within } from '../parts/Within';
import { SaveTools } from '../save/SaveTools';

const ROWS = 200;

export function Groups() {
  const { part } = usePart();
  const { efficiency } = usePack().json;
  if (!efficiency || !part) return null;
  const known = part.nodes.length + part.classes.length > 0;
  if (!known && efficiency.nodes.length + efficiency.classes.length === 0) return null;
  const nodes = byMean(part.nodes);
  const classes = byMean(part.classes);
  const table = () => ({
    columns: ['kind', 'name', 'threads', 'mean_computing_seconds', 'of_most_computing', 'mpi_share'],
    rows: [...nodes.map((g) => row('node', g)), ...classes.map((g) => row('class', g))],
  });
  return (
    <Panel
      title="Nodes and classes"
      note={part.says}
      tools={
        <>
          <Within />
          <SaveTools name="nodes and classes" table={table} />
        </>
      }
    >
      {known ? null : <p class="empty">A phase has no figures of nodes and classes. Choose main, the whole run or the loop.</p>}
      <div class="groups-pair">
        <GroupTable title="Node" list={nodes} />
        <GroupTable title="Class" list={classes} />
      </div>
    </Panel>
  );
}

const byMean = (list: readonly NodeOrClass[]) => [...list].sort((a, b) => b.mean_computing_seconds - a.mean_computing_seconds);

function row(kind: string, g: NodeOrClass): (string | number)[] {
  return [kind, g.name, g.locations, g.mean_computing_seconds, g.of_most_computing, g.mpi_share];
}

function GroupTable({ title, list }: { title: string; list: readonly NodeOrClass[] }) {
  if (list.length === 0) return null;
  return (
    <div class="scroll groups" tabIndex={0} role="region" aria-label={`${title} by computing time`}>
      <table>
        <Heads of={[title, numbers('Threads', 'that called MPI'), numbers('Computing', 'mean of its threads'), { title: 'Of the most', says: 'that mean over the time of the thread that computes most', class: 'n bar' }, numbers('In MPI', 'share of the time of its threads')]} />
        <tbody>
          {list.slice(0, ROWS).map((g, i) => (
            <tr key={i}>
              <th scope="row">{g.name}</th>
              <td class="n">{count(g.locations)}</td>
              <td class="n">{seconds(g.mean_computing_seconds)}</td>
              <td class="n bar">
                <span class="fill" style={{ width: `${Math.round(38 * Math.min(1, g.of_most_computing || 0))}px` }} />
                {percent(g.of_most_computing)}
              </td>
              <td class="n">{percent(g.mpi_share)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {list.length > ROWS ? <p class="pm">and {count(list.length - ROWS)} more, in the CSV</p> : null}
    </div>
  );
}
