// Threads over time: what each one computed and when it was in MPI.
import '../draw/canvas.css';
import { useCallback, useMemo, useRef, useState } from 'preact/hooks';
import { CHOSEN, clusterOf, kindOf, LOST, MPI, NO_DATA, OTHERS } from '../data/codes';
import { usePack } from '../data/context';
import { labelsAt } from '../data/levels';
import type { Pack } from '../data/pack';
import { onlyCollectives, scopesOf } from '../data/waits';
import { threadName } from '../data/names';
import { length } from '../draw/span';
import { Legend } from '../draw/Legend';
import { css } from '../draw/surface';
import { keptOf, NOT_KEPT } from '../flame/instances';
import { count, ns, plural } from '../format';
import { greyOf, waitGround } from '../palette';
import { useKeyHelp, type Keys } from '../parts/keys';
import { Empty } from '../parts/Panel';
import { SizedBox } from '../parts/SizedBox';
import { modelOf, ownOf, titleOf } from '../program/model';
import { SaveTools } from '../save/SaveTools';
import { goTo, useParam, useSelection } from '../store';
import { useTheme } from '../theme';
import { critical, type Critical } from '../timeline/critical';
import { around, LEAST_NS, Plot, selectedTime } from '../timeline/Plot';
import { bursts, calls, coder, codes, gaps, kindsOf, overview, waits, wholeTime } from '../timeline/source';
import type { Drawn } from '../timeline/Threads';
import { useZoom } from '../timeline/zoom';

const KEYS: Keys = {
  title: 'Timeline',
  keys: [
    ['w s', 'zoom in and out in time; wheel'],
    ['a d', 'go back and forth in time; Shift and wheel, Shift and drag'],
    ['W S', 'zoom in and out in threads; Ctrl and wheel'],
    ['A D', 'go up and down in threads; wheel over the names'],
    ['← → ↑ ↓', 'go from burst to burst, from thread to thread'],
    ['Enter', 'select the cluster at the cursor; click, with Ctrl to add'],
    ['r', 'select the thread at the cursor'],
    ['[ ]', 'select from, and up to, the cursor; drag'],
    ['f', 'zoom to what is selected'],
    ['0', 'show everything'],
    ['m', 'messages on and off'],
    ['p', 'critical path on and off'],
  ],
};

export function Timeline() {
  const pack = usePack();
  const theme = useTheme();
  const selection = useSelection();
  const levels = useMemo(() => labelsAt(pack, selection.level), [pack, selection.level]);
  const lanes = useMemo(() => ({ bursts: bursts(pack), calls: calls(pack) }), [pack]);
  const gap = useMemo(() => gaps(pack, lanes.bursts, lanes.calls), [pack, lanes]);
  const waiting = useMemo(() => waits(pack, lanes.calls), [pack, lanes]);
  const coded = useMemo(() => coder(levels, selection.clusters), [levels, selection.clusters]);
  const source = useMemo(
    () => {
      const own = ownOf(pack, selection);
      return { threads: pack.json.threads, ...lanes, gap, waits: waiting, chosen: own?.calls ?? null, overview: overview(pack, coded), code: codes(pack, levels, selection.clusters, own?.bursts) };
    },
    [pack, lanes, gap, waiting, coded, levels, selection.clusters, selection.line],
  );
  const whole = useMemo(() => wholeTime(pack, lanes), [pack, lanes]);
  const kept = useMemo(() => (pack.json.points.count < pack.json.points.of ? (pack.json.manifest?.kept.windows ?? []) : []).map((w) => ({ from: w.begin_ns, to: w.end_ns })), [pack]);
  const colour = useCallback(
    (code: number) => (code === CHOSEN ? css('--ink') : code === MPI ? greyOf('mpi', theme) : code === NO_DATA ? greyOf('dropped', theme) : code === LOST ? greyOf('lost', theme) : code === OTHERS ? greyOf('others', theme) : kindOf(code) ? waitGround(kindOf(code), theme) : levels.colour(clusterOf(code), theme)),
    [levels, theme],
  );
  const variant = useCallback((code: number) => levels.variant(clusterOf(code)), [levels]);
  const [time, setTime] = useZoom('zoom', whole, LEAST_NS);
  const [rows, setRows] = useZoom('rows', useMemo(() => ({ from: 0, to: Math.max(1, pack.json.threads) }), [pack]), Math.min(4, pack.json.threads));
  const [lines, setLines] = useParam('messages', 'yes');
  const [path, setPath] = useParam('path', 'yes');
  const way = useMemo(() => critical(pack), [pack]);
  const kinds = useMemo(() => kindsOf(pack), [pack]);
  const program = modelOf(pack);
  const [{ text, whom, line }, setSaid] = useState({ text: '', whom: -1, line: -1 });
  const [, markLine] = useParam('at', '');
  const say = useCallback((text: string, whom = -1, line = -1) => setSaid({ text, whom, line }), []);
  const [, showOnly] = useParam('only', '');
  const [over, setOver] = useState<Drawn>({ messages: 0, lines: 0, changes: 0, connected: 0 });
  const drawn = useCallback((d: Drawn) => setOver((o) => (JSON.stringify(o) === JSON.stringify(d) ? o : d)), []);
  const picture = useRef<HTMLDivElement>(null);
  useKeyHelp(KEYS);
  if (pack.json.threads === 0 || (source.bursts.item.length === 0 && !source.overview && source.calls.item.length === 0)) {
    return <Empty>Nothing to draw over time: this run has no bursts.</Empty>;
  }
  const all = length(time) >= length(whole) && length(rows) >= pack.json.threads;
  const showAll = () => {
    setTime(whole);
    setRows({ from: 0, to: pack.json.threads });
  };
  const selected = selectedTime(selection, whole);
  const near = selected && around(selected, whole);
  const shown = Math.ceil(rows.to) - Math.floor(rows.from);
  return (
    <div class="timeline" ref={picture}>
      <div class="canvas-bar">
        <span class="in-view">
          {ns(length(time))}
          {all ? '' : ` of ${ns(length(whole))}`}, {shown < pack.json.threads ? `${count(shown)} of ` : ''}
          {plural(pack.json.threads, 'thread')}
        </span>
        <button type="button" disabled={all} onClick={showAll} aria-keyshortcuts="0">
          Show everything
        </button>
        {selected ? (
          <button type="button" disabled={time.from === near?.from && time.to === near.to} onClick={() => near && setTime(near)} aria-keyshortcuts="f">
            Zoom to the selected time
          </button>
        ) : null}
        {selected && !keptOf(pack.json.manifest, [selected.from, selected.to]) ? <span class="note">{NOT_KEPT}</span> : null}
        {pack.json.detail.messages > 0 ? (
          <label>
            <input type="checkbox" checked={lines === 'yes'} onChange={(e) => setLines(e.currentTarget.checked ? 'yes' : 'no')} /> Messages
          </label>
        ) : null}
        {way ? (
          <label>
            <input type="checkbox" checked={path === 'yes'} onChange={(e) => setPath(e.currentTarget.checked ? 'yes' : 'no')} /> Critical path
          </label>
        ) : null}
        {way && path === 'yes' && !(way.known && !way.coarse) ? <span class="note">{pathWhere(way)}</span> : null}
        {over.lines < over.messages ? (
          <span class="note">
            {over.lines ? `${count(over.lines)} of ` : ''}
            {count(over.messages)} messages {over.lines ? 'drawn: zoom in to see the others' : 'here: zoom in to see them'}
          </span>
        ) : null}
        {over.connected < over.changes ? (
          <span class="note">
            {plural(over.changes, 'change')} of threads on the path, {count(over.connected)} drawn one by one: zoom in
          </span>
        ) : null}
        <span class="stretch" />
        <SaveTools name="timeline" picture={picture} />
      </div>
      <Legend levels={levels} mpi waits={kinds} where={whereOf(pack)} path={way !== null && path === 'yes'} kept={kept.length > 0} lost={pack.json.overview?.codes.includes(LOST) ?? false} calls={source.chosen?.includes(1) ?? false} />
      <SizedBox class="timeline-box">
        {(size) => <Plot size={size} source={source} whole={whole} time={time} rows={rows} kept={kept} messages={lines === 'yes'} critical={path === 'yes' ? way : null} colour={colour} variant={variant} coded={coded} setTime={setTime} setRows={setRows} drawn={drawn} say={say} switchMessages={() => setLines(lines === 'yes' ? 'no' : 'yes')} switchCritical={() => setPath(path === 'yes' ? 'no' : 'yes')} />}
      </SizedBox>
      <p class="said-at" role="status">
        {whom >= 0 ? (
          <>
            <button
              type="button"
              class="link"
              title="For whom a call waits is known of each call, why of all waits for that rank together"
              onClick={() => {
                showOnly('selected');
                goTo('waits', { threads: [[whom, whom]], clusters: null });
              }}
            >
              Why {threadName(pack, whom)} is late: its causes
            </button>{' '}
          </>
        ) : null}
        {line >= 0 ? (
          <>
            <button
              type="button"
              class="link"
              onClick={() => {
                markLine(`${program!.lines[line]!.node.id}`);
                goTo('program');
              }}
            >
              Its line of the program: {titleOf(program!, program!.lines[line]!)}
            </button>{' '}
          </>
        ) : null}
        {text}
      </p>
    </div>
  );
}

// pathWhere says where the critical path is drawn, and how.
function pathWhere({ coarse, known, thread }: Critical): string {
  const exact = thread.length > 0 ? 'The critical path is exact where calls are kept' : 'The critical path is coarse';
  if (!coarse) return `${exact}, elsewhere it is not in the page: the view Waits has its sums`;
  return `${exact}${thread.length > 0 ? ', elsewhere coarse' : ''}: in each ${ns(coarse.each)} the threads that have most of it${known ? '' : ', but not everywhere'}`;
}

// whereOf says where waits are drawn, unless it is everywhere.
function whereOf(pack: Pack): string {
  if (pack.json.detail.waits > 0 && !pack.has('overview.wait')) return 'Waits are drawn where calls are.';
  const [scope] = scopesOf(pack.json.waits);
  return scope && onlyCollectives(scope.table) ? 'Waits for messages are known in the kept windows only.' : '';
}
