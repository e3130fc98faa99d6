// The colours of a drawing. Each cluster is a button that selects it; with Ctrl it is added to those selected.
import { MISSING } from '../data/clusters';
import { KINDS } from '../data/waits';
import type { Levels } from '../data/levels';
import { percent, seconds } from '../format';
import { greyOf } from '../palette';
import { Patch, WaitPatch } from '../parts/Swatch';
import { toggleCluster, useSelection } from '../store';
import { useTheme } from '../theme';

const MOST = 24; // clusters; the view of clusters has them all

interface Props {
  levels: Levels;
  mpi?: boolean;
  waits?: readonly number[]; // kinds that occur
  where?: string; // waits are known
  path?: boolean; // the critical path is drawn
  kept?: boolean;
  lost?: boolean;
  calls?: boolean; // those of the selected line of the program are there
}

// With MPI it is that of a drawing over time, where missing data are hatched, as is what was lost.
export function Legend({ levels, mpi, waits = [], where, path, kept, lost, calls }: Props) {
  const theme = useTheme();
  const selection = useSelection();
  const all = [...levels.of].filter(([label, c]) => c.bursts > 0 && !(mpi && label === MISSING));
  const total = all.reduce((sum, [, c]) => sum + c.seconds, 0);
  const shown = all.sort((a, b) => b[1].seconds - a[1].seconds).slice(0, MOST);
  return (
    <ul class="legend" aria-label="Colours">
      {shown.map(([label, c]) => (
        <li key={label}>
          {selection.level === null ? (
            <button
              type="button"
              class="quiet"
              aria-pressed={selection.clusters?.includes(label) ?? false}
              title={`${seconds(c.seconds)}, ${percent(c.seconds / total)} of computing time. Click: this one alone; with Ctrl: add it`}
              onClick={(e) => toggleCluster(label, !(e.ctrlKey || e.metaKey))}
            >
              <Patch fill={levels.colour(label, theme)} variant={levels.variant(label)} /> {c.name}
            </button>
          ) : (
            <span>
              <Patch fill={levels.colour(label, theme)} variant={levels.variant(label)} /> {c.name}
            </span>
          )}
        </li>
      ))}
      {all.length > MOST ? (
        <li>
          <span>{all.length - MOST} more</span>
        </li>
      ) : null}
      {shown.some(([label]) => levels.variant(label)) ? (
        <li>
          <span>A kind of computation has one colour. {mpi ? 'Hatched' : 'Hatched here, hollow in the plot'}: its variants, slower or quicker modes that order does not predict.</span>
        </li>
      ) : null}
      {mpi ? (
        <>
          <li>
            <span>
              <Patch fill={greyOf('mpi', theme)} /> MPI
            </span>
          </li>
          {waits.map((kind) => (
            <li key={kind}>
              <span title={KINDS[kind]?.says} data-wait={kind}>
                <WaitPatch kind={kind} /> waits: {KINDS[kind]?.name ?? 'unknown'}
              </span>
            </li>
          ))}
          {where ? (
            <li>
              <span>{where}</span>
            </li>
          ) : null}
          <li>
            <span>
              <Patch fill={greyOf('dropped', theme)} hatched /> missing data
            </span>
          </li>
        </>
      ) : null}
      {calls ? (
        <li>
          <span>
            <Patch fill="var(--ink)" /> calls of the selected line
          </span>
        </li>
      ) : null}
      {lost ? (
        <li>
          <span>
            <Patch fill={greyOf('lost', theme)} hatched /> lost: MPI calls dropped for lack of space
          </span>
        </li>
      ) : null}
      {path ? (
        <li>
          <span title="what the run did from its end back to its begin, at each wait on the thread that was waited for: only what is shorter here shortens the run">
            <svg class="swatch" viewBox="0 0 14 10" width="14" height="10" aria-hidden="true">
              <path class="critical" d="M0 2.5H7V7.5H14" />
            </svg>{' '}
            critical path
          </span>
        </li>
      ) : null}
      {kept ? (
        <li>
          <span>
            <svg class="swatch" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
              <rect y="3" width="10" height="5" class="kept" />
            </svg>{' '}
            kept in full detail
          </span>
        </li>
      ) : null}
    </ul>
  );
}
