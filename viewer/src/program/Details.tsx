// What is known of the line that is marked, and what to do with it in other views.
import { useMemo } from 'preact/hooks';
import { usePack } from '../data/context';
import { threadName } from '../data/names';
import { count, ns, plural } from '../format';
import { goTo, useParam, useSelection } from '../store';
import { inRanges } from '../state/ranges';
import { isBlock, ownOf, titleOf, type Line, type Model } from './model';
import type { Trips } from './trips';
import { factsOf } from './why';

interface Props {
  readonly m: Model;
  readonly line: Line | null;
  readonly trips: Trips | null; // of a loop
  readonly trip: number; // that the next click shows
  readonly nextTrip: () => void;
  readonly act: (line: Line) => void;
  readonly target: number | null; // the line of the program itself that act selects in all views; null = none
}

export function Details({ m, line, trips, trip, nextTrip, act, target }: Props) {
  const pack = usePack();
  const facts = useMemo(() => line && factsOf(pack, m, line), [pack, m, line]);
  if (!line || !facts) {
    return (
      <aside class="program-details" aria-label="Marked line">
        <p class="note">Click a line: what is known of it, and on what evidence, stands here.</p>
        <p class="note">A click on compute selects its bursts, on an MPI call its calls, on IF its ranks, in all views. A loop leads to its trips on the timeline.</p>
      </aside>
    );
  }
  return (
    <aside class="program-details" aria-label="Marked line">
      <h3>
        <code>{titleOf(m, line)}</code>
      </h3>
      <dl>
        {facts.rows.map(([label, value], i) => (
          <div key={i}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {facts.says.map((text) => (
        <p key={text} class="note">
          {text}
        </p>
      ))}
      <Actions m={m} line={line} trips={trips} trip={trip} nextTrip={nextTrip} act={act} target={target} />
    </aside>
  );
}

function Actions({ m, line, trips, trip, nextTrip, act, target }: Props & { line: Line }) {
  const pack = usePack();
  const selection = useSelection();
  const [, setZoom] = useParam('zoom', '');
  const { kind } = line.node;
  const chosen = target !== null && selection.line === target;
  const own = useMemo(() => (chosen ? ownOf(pack, selection) : null), [pack, chosen, selection.line]);
  const cluster = pack.column('points.cluster');
  const bursts = own?.bursts.reduce((sum, is, i) => sum + (selection.clusters === null || selection.clusters.includes(cluster[i]!) ? is : 0), 0) ?? 0;
  const calls = own?.calls.reduce((a, b) => a + b, 0) ?? 0;
  // first is the first call of the line, on the selected threads if any has one.
  const toFirst = () => {
    const [thread, enter, exit] = ['calls.thread', 'calls.enter_ns', 'calls.exit_ns'].map((name) => pack.column(name));
    let best = -1;
    own?.calls.forEach((is, i) => {
      if (is && inRanges(selection.threads, thread![i]!) && (best < 0 || enter![i]! < enter![best]!)) best = i;
    });
    if (best < 0) best = own?.calls.indexOf(1) ?? -1;
    if (best >= 0) {
      const room = Math.max(1000, 2 * (exit![best]! - enter![best]!));
      setZoom(`${enter![best]! - room}~${exit![best]! + room}`);
    }
    goTo('timeline');
  };
  if (kind === 'loop') {
    if (!m.joined || !trips) return <p class="note">{m.joined ? 'The page has no calls of it: trips cannot be shown on the timeline.' : NOT_JOINED}</p>;
    const span = trips.trips[trip]!;
    return (
      <p class="program-actions">
        <button type="button" onClick={nextTrip} aria-keyshortcuts="t">
          Trip {count(trip + 1)} on the timeline
        </button>{' '}
        <span class="note">
          of {plural(trips.trips.length, 'trip')} of {threadName(pack, trips.thread)} that this page has; it takes {ns(span.to - span.from)}. The next click shows the next one.
        </span>
      </p>
    );
  }
  if (kind === 'if') {
    if (!line.ranks) return null;
    return (
      <p class="program-actions">
        <button type="button" onClick={() => act(line)}>
          Select its ranks in all views
        </button>
      </p>
    );
  }
  const selects = kind === 'mpi' || kind === 'compute' || isBlock(line);
  if (!selects || (m.joined && target === null)) return null;
  if (!m.joined && kind !== 'compute') return <p class="note">{NOT_JOINED}</p>;
  return (
    <>
      <p class="program-actions">
        <button type="button" aria-pressed={chosen} onClick={() => act(line)}>
          {kind === 'mpi' ? 'Select its calls' : kind === 'compute' ? 'Select its bursts' : 'Select what lies in it'}
        </button>
        {chosen && bursts > 0 ? (
          <button type="button" onClick={() => goTo('space')}>
            Burst space
          </button>
        ) : null}
        {chosen && (bursts > 0 || calls > 0) ? (
          <button type="button" onClick={calls > 0 && bursts === 0 ? toFirst : () => goTo('timeline')}>
            Timeline
          </button>
        ) : null}
        {chosen && kind === 'compute' ? (
          <button type="button" onClick={() => goTo('clusters')}>
            Clusters
          </button>
        ) : null}
      </p>
      {chosen ? (
        <p class="note">
          Selected in this page: {[bursts > 0 || kind === 'compute' ? plural(bursts, 'burst') : '', calls > 0 || kind === 'mpi' ? plural(calls, 'call') : ''].filter(Boolean).join(' and ')}
          {bursts + calls === 0 ? '. They are in no window that was kept' : ''}.
        </p>
      ) : null}
    </>
  );
}

const NOT_JOINED = 'Call paths of this page have other numbers than the program: the lines cannot be joined with bursts and calls. moriens report DIR writes the page again.';
