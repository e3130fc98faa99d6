// How the time of all ranks divides between clusters and MPI over the run. Dragging selects a stretch of time.
import { useMemo, useRef } from 'preact/hooks';
import { usePack } from '../data/context';
import { labelsAt } from '../data/levels';
import { probe } from '../draw/probe';
import { Panel } from '../parts/Panel';
import { SizedBox } from '../parts/SizedBox';
import { Stack } from '../profile/Stack';
import { seriesOf } from '../profile/series';
import { SaveTools } from '../save/SaveTools';
import { select, useSelection } from '../store';
import { useTheme } from '../theme';

export function TimeProfile() {
  const pack = usePack();
  const theme = useTheme();
  const selection = useSelection();
  const box = useRef<HTMLDivElement>(null);
  const o = pack.json.overview;
  const profile = useMemo(() => {
    const seconds = pack.column('overview.profile');
    if (!o || o.bins < 1 || seconds.length < o.bins * o.codes.length) return null;
    const series = seriesOf(o.codes, o.bins, (b, k) => seconds[b * o.codes.length + k] ?? 0, labelsAt(pack, selection.level), theme);
    return { fromNS: o.from_ns, binNS: (o.to_ns - o.from_ns) / o.bins, bins: o.bins, series };
  }, [pack, selection.level, theme]);
  if (!profile) return null;
  probe('profile', () => profile.series.map((s) => ({ name: s.name, colour: s.colour, seconds: s.seconds.reduce((a, v) => a + v, 0) })));
  const table = () => ({
    columns: ['from_ns', ...profile.series.map((s) => `${s.name}, thread-seconds`)],
    rows: Array.from({ length: profile.bins }, (_, b) => [profile.fromNS + b * profile.binNS, ...profile.series.map((s) => s.seconds[b] ?? 0)]),
  });
  return (
    <Panel title="Time profile" note="all ranks together; drag to select a stretch of time" tools={<SaveTools name="time profile" table={table} picture={box} />}>
      <div ref={box} class="plot" role="img" aria-label="Time of all ranks in clusters and in MPI over the run">
        <SizedBox class="profile-box">
          {({ width, height }) => <Stack profile={profile} width={width} height={height} chosen={[selection.fromNS, selection.toNS]} pick={(fromNS, toNS) => select({ fromNS, toNS })} />}
        </SizedBox>
      </div>
    </Panel>
  );
}
