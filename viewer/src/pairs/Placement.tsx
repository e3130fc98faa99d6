// How much goes between nodes as ranks were placed, and as they could be.
import { useMemo, useRef } from 'preact/hooks';
import { bytes, count, percent, seconds } from '../format';
import { Listing } from '../parts/Listing';
import { Panel } from '../parts/Panel';
import { SaveTools } from '../save/SaveTools';
import { select } from '../store';
import { threadsOf, type Model } from './model';
import { ranksText, unplacedText } from './words';

const [NAMES, BAR, ROW] = [150, 320, 24];

export function Placement({ m }: { m: Model }) {
  const p = m.json.placement;
  const box = useRef<HTMLDivElement>(null);
  const nodes = useMemo(() => {
    const of = new Map<number, number[]>();
    for (let r = 0; r < m.ranks; r++) {
      const node = m.advised[r]!;
      if (node < 0) continue;
      const ranks = of.get(node);
      if (ranks) ranks.push(r);
      else of.set(node, [r]);
    }
    return [...of].map(([node, ranks]) => ({ node, ranks, moved: ranks.filter((r) => m.node[r] !== node).length }));
  }, [m]);
  if (!p) {
    return (
      <Panel title="Placement of ranks on nodes" class="pairs-placement">
        <p class="note">{unplacedText(m.json)}</p>
      </Panel>
    );
  }
  const now = p.internode_bytes;
  const orders: [string, number, string][] = [
    ['as they ran', now, ''],
    ['as advised', p.advised_internode_bytes, 'good'],
    ['in blocks', p.blocks_internode_bytes, ''],
    ['in turn', p.round_robin_internode_bytes, ''],
  ];
  const most = Math.max(1, ...orders.map(([, v]) => v));
  const better = p.advised_internode_bytes < now;
  const table = () => ({ columns: ['order', 'internode_bytes', 'of_now'], rows: orders.map(([name, v]) => [name, v, v / now]) });
  return (
    <Panel title="Placement of ranks on nodes" class="pairs-placement" note="bytes between nodes, by the order of the ranks" tools={<SaveTools name="pairs, placement" table={table} picture={box} />}>
      <p>
        {better ? `The advised order takes ${bytes(now)} between nodes down to ${bytes(p.advised_internode_bytes)} (−${percent(1 - p.advised_internode_bytes / now)})` : 'No order found saves a tenth of the bytes between nodes'}
        {better && p.saved_seconds > 0 ? `, which saves about ${seconds(p.saved_seconds)} of the ranks' time together, by the times of transfers within and between nodes` : ''}.
      </p>
      <div ref={box}>
        <svg class="chart placement" width={NAMES + BAR + 170} height={orders.length * ROW} role="img" aria-label={orders.map(([name, v]) => `${name}: ${bytes(v)} between nodes`).join('; ')}>
          {orders.map(([name, v, kind], i) => (
            <g key={name} transform={`translate(0,${i * ROW})`}>
              <text x={NAMES - 10} y={ROW / 2} dy="0.34em" text-anchor="end">
                {name}
              </text>
              <rect class={`bar ${kind}`} x={NAMES} y="4" width={Math.max(1, (BAR * v) / most)} height={ROW - 8} />
              <text x={NAMES + (BAR * v) / most + 8} y={ROW / 2} dy="0.34em">
                {bytes(v)}
                {i > 0 && now > 0 ? `, ${v === now ? 'the same' : `${v < now ? '−' : '+'}${percent(Math.abs(1 - v / now))}`}` : ''}
              </text>
            </g>
          ))}
        </svg>
      </div>
      {better ? (
        <>
          {!m.worlds && (
            <p>
              Write the order for the launcher (mpich, rankfile, hostfile or slurm): <code>moriens pairs DIR --order FILE --order-format mpich</code>
            </p>
          )}
          <Listing
            of="pairs"
            title="The advised order"
            name="placement"
            rows={nodes}
            pick={(n) => select({ threads: threadsOf(m, n.ranks) })}
            empty="No rank has a node."
            fields={[
              { title: 'Node', words: true, show: (n) => m.json.nodes[n.node] ?? '', csv: 'node', value: (n) => m.json.nodes[n.node] ?? '' },
              { title: 'Ranks', words: true, class: 'path ranks', show: (n) => ranksText(m, n.ranks), hint: (n) => ranksText(m, n.ranks), csv: 'ranks', value: (n) => ranksText(m, n.ranks) },
              { title: 'Number', show: (n) => count(n.ranks.length), csv: 'number', value: (n) => n.ranks.length },
              { title: 'From other nodes', says: 'ranks that ran on another node', show: (n) => count(n.moved), csv: 'moved', value: (n) => n.moved },
            ]}
          />
        </>
      ) : null}
    </Panel>
  );
}
