// A run in progress: its profile and its clusters as they grow, what measuring takes, and how the end of the run goes.
import { useEffect, useState } from 'preact/hooks';
import { count, percent, seconds } from '../format';
import { Efficiency } from '../live/Efficiency';
import { LatestBursts, LiveClusters } from '../live/Growing';
import '../live/live.css';
import { Agents, Losses, Overhead, Stages } from '../live/Meters';
import type { LivePage } from '../live/page';
import { LiveProfile } from '../live/Profile';
import { line, listen, liveEnd, livePage } from '../live/source';
import { Empty } from '../parts/Panel';
import { useKeyHelp, useKeys } from '../parts/keys';
import { useSignal } from '../state/signal';

const stages = new Map([
  ['collecting', 'The job is running'],
  ['finishing', 'The run was ended; agents send remaining data'],
  ['analysing', 'The run is being analysed'],
  ['done', 'The results are written'],
]);

const keys = { title: 'Live', keys: [['p', 'pause and resume']] } as const;

export function Live() {
  const now = useSignal(livePage);
  const end = useSignal(liveEnd);
  const [held, hold] = useState<LivePage | null>(null);
  useKeyHelp(keys);
  useEffect(listen, []);
  const pause = () => hold(held ? null : livePage.value);
  useKeys((e) => {
    if (e.key !== 'p') return false;
    pause();
    return true;
  });
  const page = held ?? now;
  return (
    <div class="live">
      <Head page={page} paused={held !== null} pause={pause} />
      {end ? <Ended directory={end.directory} error={end.error} hint={end.hint} /> : null}
      {page ? (
        <>
          <Efficiency health={page.health} />
          <LiveProfile page={page} ended={end !== null} />
          <div class="live-pair">
            <LiveClusters page={page} ended={end !== null} />
            <LatestBursts page={page} ended={end !== null} />
          </div>
          <div class="live-row">
            <Overhead page={page} />
            <Losses health={page.health} ended={end !== null} />
            <Agents health={page.health} />
            <Stages health={page.health} />
          </div>
        </>
      ) : null}
    </div>
  );
}

function Head({ page, paused, pause }: { page: LivePage | null; paused: boolean; pause: () => void }) {
  const state = useSignal(line);
  const end = useSignal(liveEnd);
  const h = page?.health;
  const said = end ? 'The run has ended' : state === 'lost' ? 'The collector no longer answers' : state === 'connecting' ? (page ? 'Connecting again …' : 'Connecting …') : (stages.get(h?.stage ?? '') ?? 'Waiting for the first ranks …');
  const facts = h
    ? [
        ['since the start', seconds(h.seconds)],
        ['ranks', count(h.ranks.recorded)],
        [h.cells ? 'MPI calls of ended threads' : 'MPI calls', count(h.mpi_calls)],
        ['bursts', count(h.bursts)],
        ['bursts per second', count(h.bursts_per_second)],
        ...(h.cells
          ? [['micro-cells', count(h.cells.units)]]
          : [
              ['clusters', count(h.clusters.count)],
              ['time in clusters', percent(h.clusters.explained_share)],
            ]),
      ]
    : [];
  return (
    <div class="live-head">
      <p role="status">
        <strong>{said}</strong>
        {paused ? ' · paused' : ''}
      </p>
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <button type="button" disabled={!page} aria-pressed={paused} aria-keyshortcuts="p" title="Hold what is shown (key p); nothing is lost" onClick={pause}>
        {paused ? 'Resume' : 'Pause'}
      </button>
    </div>
  );
}

function Ended({ directory, error, hint }: { directory: string; error: string; hint: string }) {
  return (
    <div class={`live-end ${error ? 'failed' : ''}`}>
      {error ? <p>The end of the run failed: {error}</p> : null}
      {hint ? <p>{hint}</p> : null}
      {directory ? (
        <p>
          {error ? 'The existing files are in ' : 'The results are in '}
          <code>{directory}</code>. <code>moriens view {directory}</code> shows them.
        </p>
      ) : null}
      {!error && !directory ? <Empty>Nothing was written.</Empty> : null}
    </div>
  );
}
