// The running time profile: how the time of all threads divides between clusters and MPI so far.
import { useRef } from 'preact/hooks';
import { usePack } from '../data/context';
import { labelsAt } from '../data/levels';
import { probe } from '../draw/probe';
import { Empty, Panel } from '../parts/Panel';
import { SizedBox } from '../parts/SizedBox';
import { Stack } from '../profile/Stack';
import { seriesOf } from '../profile/series';
import { SaveTools } from '../save/SaveTools';
import { useTheme } from '../theme';
import { OnNodes } from './OnNodes';
import type { LivePage } from './page';

export function LiveProfile({ page, ended }: { page: LivePage; ended: boolean }) {
  const pack = usePack();
  const theme = useTheme();
  const box = useRef<HTMLDivElement>(null);
  const p = page.profile;
  if (!p || p.seconds.length === 0 || p.bin_ns <= 0) {
    return (
      <Panel title="Time profile">
        {page.health.cells ? <OnNodes what="The time profile" cells={page.health.cells} ended={ended} /> : <Empty>No burst has been clustered yet.</Empty>}
      </Panel>
    );
  }
  const series = seriesOf(p.codes, p.seconds.length, (b, k) => p.seconds[b]?.[k] ?? 0, labelsAt(pack, null), theme);
  const profile = { fromNS: p.from_ns, binNS: p.bin_ns, bins: p.seconds.length, series };
  probe('live', () => ({ bins: profile.bins, series: series.map((s) => ({ name: s.name, colour: s.colour, seconds: s.seconds.reduce((a, v) => a + v, 0) })) }));
  const table = () => ({
    columns: ['from_ns', ...series.map((s) => `${s.name}, thread-seconds`)],
    rows: Array.from({ length: profile.bins }, (_, b) => [p.from_ns + b * p.bin_ns, ...series.map((s) => s.seconds[b] ?? 0)]),
  });
  return (
    <Panel title="Time profile" note="all ranks together; what is grey is in no cluster, at the top MPI" tools={<SaveTools name="live profile" table={table} picture={box} />}>
      <div ref={box} class="plot" role="img" aria-label="Time of all ranks in clusters and in MPI so far">
        <SizedBox class="profile-box">{({ width, height }) => <Stack profile={profile} width={width} height={height} />}</SizedBox>
      </div>
    </Panel>
  );
}
