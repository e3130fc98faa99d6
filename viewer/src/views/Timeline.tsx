// Threads over time: what each one computed and when it was in MPI.
import '../draw/canvas.css';
import { useCallback, useMemo, useRef, useState } from 'preact/hooks';
import { clusterOf, LOST, MPI, NO_DATA, OTHERS } from '../data/codes';
import { usePack } from '../data/context';
import { labelsAt } from '../data/levels';
import { length } from '../draw/span';
import { Legend } from '../draw/Legend';
import { count, ns, plural } from '../format';
import { greyOf } from '../palette';
import { useKeyHelp, type Keys } from '../parts/keys';
import { Empty } from '../parts/Panel';
import { SizedBox } from '../parts/SizedBox';
import { SaveTools } from '../save/SaveTools';
import { useParam, useSelection } from '../store';
import { useTheme } from '../theme';
import { LEAST_NS, Plot } from '../timeline/Plot';
import { bursts, calls, coder, codes, gaps, overview, wholeTime } from '../timeline/source';
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
  ],
};

export function Timeline() {
  const pack = usePack();
  const theme = useTheme();
  const selection = useSelection();
  const levels = useMemo(() => labelsAt(pack, selection.level), [pack, selection.level]);
  const lanes = useMemo(() => ({ bursts: bursts(pack), calls: calls(pack) }), [pack]);
  const gap = useMemo(() => gaps(pack, lanes.bursts, lanes.calls), [pack, lanes]);
  const coded = useMemo(() => coder(levels, selection.clusters), [levels, selection.clusters]);
  const source = useMemo(
    () => ({ threads: pack.json.threads, ...lanes, gap, overview: overview(pack, coded), code: codes(pack, levels, selection.clusters) }),
    [pack, lanes, gap, coded, levels, selection.clusters],
  );
  const whole = useMemo(() => wholeTime(pack, lanes), [pack, lanes]);
  const kept = useMemo(() => (pack.json.points.count < pack.json.points.of ? (pack.json.manifest?.kept.windows ?? []) : []).map((w) => ({ from: w.begin_ns, to: w.end_ns })), [pack]);
  const colour = useCallback(
    (code: number) => (code === MPI ? greyOf('mpi', theme) : code === NO_DATA ? greyOf('dropped', theme) : code === LOST ? greyOf('lost', theme) : code === OTHERS ? greyOf('others', theme) : levels.colour(clusterOf(code), theme)),
    [levels, theme],
  );
  const variant = useCallback((code: number) => levels.variant(clusterOf(code)), [levels]);
  const [time, setTime] = useZoom('zoom', whole, LEAST_NS);
  const [rows, setRows] = useZoom('rows', useMemo(() => ({ from: 0, to: Math.max(1, pack.json.threads) }), [pack]), Math.min(4, pack.json.threads));
  const [lines, setLines] = useParam('messages', 'yes');
  const [said, say] = useState('');
  const [crossing, setCrossing] = useState({ messages: 0, lines: 0 });
  const drawn = useCallback((messages: number, lines: number) => setCrossing((c) => (c.messages === messages && c.lines === lines ? c : { messages, lines })), []);
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
        {pack.json.detail.messages > 0 ? (
          <label>
            <input type="checkbox" checked={lines === 'yes'} onChange={(e) => setLines(e.currentTarget.checked ? 'yes' : 'no')} /> Messages
          </label>
        ) : null}
        {crossing.lines < crossing.messages ? (
          <span class="note">
            {crossing.lines ? `${count(crossing.lines)} of ` : ''}
            {count(crossing.messages)} messages {crossing.lines ? 'drawn: zoom in to see the others' : 'here: zoom in to see them'}
          </span>
        ) : null}
        <span class="stretch" />
        <SaveTools name="timeline" picture={picture} />
      </div>
      <Legend levels={levels} mpi kept={kept.length > 0} lost={pack.json.overview?.codes.includes(LOST) ?? false} />
      <SizedBox class="timeline-box">
        {(size) => <Plot size={size} source={source} whole={whole} time={time} rows={rows} kept={kept} messages={lines === 'yes'} colour={colour} variant={variant} coded={coded} setTime={setTime} setRows={setRows} drawn={drawn} say={say} switchMessages={() => setLines(lines === 'yes' ? 'no' : 'yes')} />}
      </SizedBox>
      <p class="said-at" role="status">
        {said}
      </p>
    </div>
  );
}
