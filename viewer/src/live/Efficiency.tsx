// How well the job uses its processors: the factors so far and of the last minute, the parallel efficiency in the bins
// of that, and the rank that has been in one MPI call for long.
import { percent, seconds } from '../format';
import type { Factors, Health } from './page';

// As health.WaitSeconds of the collector.
const WAIT_SECONDS = 10;

export function Efficiency({ health }: { health: Health }) {
  const { efficiency: e, waiting } = health;
  if (!e) return null;
  const waits = waiting && waiting.seconds >= WAIT_SECONDS;
  return (
    <section class="live-efficiency" aria-label="Efficiency">
      <Group name="so far" factors={e.run} />
      <Group name="last minute" factors={e.minute} />
      {e.bins.length > 1 ? <Sparkline bins={e.bins} binSeconds={e.bin_seconds} /> : null}
      {e.why || waits ? (
        <p>
          {waits ? (
            <strong class="lost">
              rank {waiting.rank}
              {waiting.world > 0 ? ` of world ${waiting.world}` : ''} in {waiting.call}
              {waiting.callpath ? `@${waiting.callpath}` : ''} for {Math.floor(waiting.seconds)} s
            </strong>
          ) : null}
          {waits && e.why ? ' · ' : ''}
          {e.why}
        </p>
      ) : null}
    </section>
  );
}

function Group({ name, factors: f }: { name: string; factors: Factors }) {
  const known: [string, number, string][] = [
    ['parallel efficiency', f.parallel_efficiency, 'mean computing time / elapsed time = load balance · communication'],
    ['load balance', f.load_balance, `mean / longest computing time; in nodes ${percent(f.load_balance_in_nodes)}, between nodes ${percent(f.load_balance_between_nodes)}`],
    ['communication', f.communication_efficiency, 'longest computing time / elapsed time'],
  ];
  return (
    <div class="live-factors">
      <h3>
        {name}
        <span class="pm">{Number.isFinite(f.seconds) ? seconds(f.seconds) : ''}</span>
      </h3>
      <dl>
        {known.map(([what, value, title]) => (
          <div key={what} title={title}>
            <dt>{what}</dt>
            <dd>{percent(value)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

const [WIDTH, HEIGHT, PAD] = [150, 36, 3];

function Sparkline({ bins, binSeconds }: { bins: readonly number[]; binSeconds: number }) {
  const x = (i: number) => PAD + (i / (bins.length - 1)) * (WIDTH - 2 * PAD);
  const y = (share: number) => PAD + (1 - Math.min(1, Math.max(0, share))) * (HEIGHT - 2 * PAD);
  const d = bins.map((b, i) => `${i === 0 ? 'M' : 'L'}${x(i).toFixed(1)},${y(b).toFixed(1)}`).join('');
  const last = bins.at(-1) ?? 0;
  return (
    <svg class="live-spark" width={WIDTH} height={HEIGHT} role="img" aria-label={`Parallel efficiency in each ${seconds(binSeconds)} of the last minute: ${bins.map(percent).join(', ')}`}>
      <path class="frame" d={`M${PAD},${y(1)}H${WIDTH - PAD}M${PAD},${y(0)}H${WIDTH - PAD}`} />
      <path class="line" d={d} />
      <circle cx={x(bins.length - 1)} cy={y(last)} r="2.5" />
    </svg>
  );
}
