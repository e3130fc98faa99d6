// Who exchanged what with whom, what it cost, and where ranks should lie: dendrogram and matrix, plots and tables.
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { usePack } from '../data/context';
import type { Pairs as Data } from '../data/pairs';
import { threadsName } from '../data/names';
import '../draw/canvas.css';
import { count, plural, score } from '../format';
import { cut, givenCut, chosenOf, listed, modelOf, QUANTITIES, type Model, type Quantity } from '../pairs/model';
import { heightOf, widthOf, Picture, useView, type Order } from '../pairs/Picture';
import { Placement } from '../pairs/Placement';
import { OverSize, OverTime } from '../pairs/Plots';
import '../pairs/pairs.css';
import { colourAt, DECADES, NODE_COLOURS } from '../pairs/raster';
import { Findings } from '../pairs/Summary';
import { Causes, Groups, Paths, Sizes, Top } from '../pairs/Tables';
import { value } from '../pairs/words';
import { useKeyHelp, type Keys } from '../parts/keys';
import { Empty, Panel } from '../parts/Panel';
import { SizedBox } from '../parts/SizedBox';
import { SaveTools } from '../save/SaveTools';
import { onPaper } from '../shell/paper';
import { useParam, useSelection } from '../store';
import { useTheme } from '../theme';

const KEYS: Keys = {
  title: 'Pairs',
  keys: [
    ['← → ↑ ↓', 'in the matrix: go from cell to cell; at the cut: more or fewer groups; in a plot: from point to point'],
    ['Enter', 'select the ranks of the cell, or the point; click'],
    ['w s', 'zoom in and out in the matrix; wheel; drag a block'],
    ['0', 'show all ranks'],
  ],
};

export function Pairs() {
  const pack = usePack();
  const m = useMemo(() => modelOf(pack), [pack]);
  if (!m?.json.totals || m.pairs === 0) return <Empty>{whyNot(m)}</Empty>;
  return <View m={m} />;
}

const AT_ONCE = 5000; // pairs, all of which are drawn at once
const SOON = 1000; // ms

function View({ m }: { m: Model }) {
  const pack = usePack();
  const selection = useSelection();
  // Of many pairs, what is below the picture is drawn after it; and where the browser draws no pictures, soon.
  const [later, setLater] = useState(m.pairs <= AT_ONCE || onPaper.value);
  const drawn = useCallback(() => void setTimeout(() => setLater(true), 0), []);
  useEffect(() => {
    const timer = setTimeout(() => setLater(true), SOON);
    return () => clearTimeout(timer);
  }, []);
  useKeyHelp(KEYS);
  const [groups, setGroups] = useParam('cut', '');
  const given = useMemo(() => givenCut(m), [m]);
  const merges = /^\d{1,9}$/.test(groups) ? Math.min(m.left.length, Math.max(0, m.ranks - Number(groups))) : -1;
  const now = useMemo(() => (merges < 0 ? given : cut(m, merges)), [m, merges, given]);
  const chosen = useMemo(() => chosenOf(m, selection.threads), [m, selection.threads]);
  const pairs = useMemo(() => listed(m, chosen), [m, chosen]);
  const who = selection.threads === null ? 'all pairs' : `pairs of ${threadsName(pack, selection.threads)}`;
  return (
    <div class="listings pairs">
      <Findings m={m} />
      <Matrix m={m} cut={now} setMerges={(n) => setGroups(`${m.ranks - n}`)} reset={merges < 0 ? null : () => setGroups('')} drawn={drawn} />
      {later ? (
        <>
          <Groups m={m} cut={now} />
          <Top m={m} pairs={pairs} who={who} />
          <div class="listings-columns even">
            <OverSize m={m} pairs={pairs} who={who} />
            <OverTime m={m} pairs={pairs} who={who} />
          </div>
          <Causes m={m} />
          <Placement m={m} />
          <div class="listings-columns even">
            <Paths m={m} />
            <Sizes m={m} />
          </div>
        </>
      ) : null}
    </div>
  );
}

interface MatrixProps {
  readonly m: Model;
  readonly cut: ReturnType<typeof cut>;
  readonly setMerges: (merges: number) => void;
  readonly reset: (() => void) | null;
  readonly drawn: () => void;
}

const ORDERS: readonly [Order, string][] = [
  ['tree', 'dendrogram'],
  ['node', 'node'],
  ['rank', 'number'],
];

function Matrix({ m, cut: now, setMerges, reset, drawn }: MatrixProps) {
  const box = useRef<HTMLDivElement>(null);
  const { zoomed, all } = useView(m);
  const [what, choose] = useParam('matrix', QUANTITIES[0].id);
  const [add, setAdd] = useParam('matrix-cells', 'most');
  const [said, setOrder] = useParam('matrix-order', 'tree');
  const q = QUANTITIES.find((k) => k.id === what) ?? QUANTITIES[0];
  const order = ORDERS.find(([id]) => id === said)?.[0] ?? 'tree';
  const alone = useMemo(() => now.label.reduce((n, g) => n + Number(g < 0), 0), [now]);
  return (
    <Panel
      title="Dendrogram and matrix of ranks"
      class="pairs-matrix"
      note={`${plural(now.groups, 'group')}${alone > 0 && alone < now.groups ? `, ${count(alone)} of them single ranks` : ''}; modularity ${score(now.modularity)}${now.given ? '' : ' of this cut'}`}
      tools={
        <>
          {zoomed ? (
            <button type="button" onClick={all} aria-keyshortcuts="0">
              Show all ranks
            </button>
          ) : null}
          {reset ? (
            <button type="button" onClick={reset} title="The cut with the largest modularity">
              Groups as found
            </button>
          ) : null}
          <Select title="Colour" value={q.id} choose={choose} options={QUANTITIES.map((k): [string, string] => [k.id, k.title])} />
          {m.ranks > MANY && q.mean !== true ? <Select title="Cells of several ranks" value={add} choose={setAdd} options={[['most', 'the most of a pair'], ['sum', 'sum']]} /> : null}
          <Select title="Order" value={order} choose={setOrder} options={ORDERS} />
          <SaveTools name={`pairs, ${q.title}`} picture={box} />
        </>
      }
    >
      <div class="pairs-main">
        <div ref={box} class="pairs-picture" style={{ height: `${heightOf(m.ranks)}px`, maxWidth: `${widthOf(m.ranks)}px` }}>
          <SizedBox class="pairs-box">{(size) => <Picture size={size} m={m} cut={now} setMerges={setMerges} quantity={q} sum={add === 'sum'} order={order} drawn={drawn} />}</SizedBox>
        </div>
        <Reading m={m} q={q} order={order} />
      </div>
    </Panel>
  );
}

const MANY = 200; // ranks, from which on cells may be of several

interface SelectProps {
  readonly title: string;
  readonly value: string;
  readonly choose: (value: string) => void;
  readonly options: readonly (readonly [id: string, title: string])[];
}

function Select({ title, value: now, choose, options }: SelectProps) {
  return (
    <label class="field">
      {title}
      <select value={now} onChange={(e) => choose(e.currentTarget.value)}>
        {options.map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

// Reading says how to read the picture.
function Reading({ m, q, order }: { m: Model; q: Quantity; order: Order }) {
  const theme = useTheme();
  const ends = useMemo(() => {
    let [least, most] = [Infinity, 0];
    for (let i = 0; i < m.pairs; i++) {
      const v = q.of(m, i);
      if (!(v > 0)) continue;
      least = Math.min(least, v);
      most = Math.max(most, v);
    }
    return { least: Math.max(least, most / DECADES), most };
  }, [m, q]);
  const { cophenetic, linkage, nodes } = m.json;
  return (
    <div class="pairs-reading">
      <p>
        <span class="heat-key">
          {value(q, ends.least)}
          <svg width="100" height="12" aria-hidden="true">
            {Array.from({ length: 20 }, (_, i) => (
              <rect key={i} x={i * 5} width="5" height="12" fill={`rgb(${colourAt(i, 1, 19, theme).join()})`} />
            ))}
          </svg>
          {value(q, ends.most)}
        </span>
      </p>
      <p>A cell is what two ranks exchanged, both ways: its colour is {q.title} (logarithmic). No colour: no messages.</p>
      {order === 'tree' ? (
        <p>
          The dendrogram at the left: ranks that are blocked longest for each other join nearest to the matrix; the scale is {linkage === 'average' ? 'the mean blocked time of the pairs between the two sides' : 'the blocked time of the pair that joins them'}. The upright line is the cut: drag it for more or fewer groups. Framed on the diagonal: groups.
        </p>
      ) : null}
      <p>
        {nodes.length > 1
          ? `Bands at the left and at the top: the ${count(nodes.length)} nodes, one colour each${nodes.length > NODE_COLOURS ? ', which repeat' : ''}; dotted squares on the diagonal are ranks of one node side by side${order === 'node' ? ': cells outside of them are traffic between nodes' : ' (order by node: cells outside of the squares are traffic between nodes)'}.`
          : 'All ranks were on one node.'}
      </p>
      <p>Click a cell: both ranks are selected in all views. Drag, or turn the wheel: zoom.</p>
      {Number.isFinite(cophenetic) && order === 'tree' ? <p class="note">Cophenetic correlation {score(cophenetic)}: how well the dendrogram renders the times of pairs (1: exactly).</p> : null}
    </div>
  );
}

// whyNot says why there is nothing to show.
function whyNot(m: { readonly json: Data; readonly ranks: number } | null): string {
  if (!m) {
    return 'Who exchanged what with whom is not known: the directory has no pairs.json. Directories of earlier versions have none: measure the program again, or run moriens analyze on its trace; then moriens report DIR writes this page again.';
  }
  const { why, totals } = m.json;
  if (m.ranks === 1) return 'One rank: there are no pairs.';
  if (totals && totals.messages === 0) return 'No two ranks exchanged messages: there are no pairs. Waits in collectives are in the view Waits.';
  return `Who exchanged what with whom is not known${why.length > 0 ? `: ${why.join('; ')}` : ''}.`;
}
