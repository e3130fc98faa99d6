// The program as a person would have written it: loops, conditions, computation and MPI calls, with their figures.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { usePack } from '../data/context';
import { threadsName } from '../data/names';
import { count, percent, plural } from '../format';
import { useKeyHelp, useKeys, type Keys } from '../parts/keys';
import { Empty } from '../parts/Panel';
import { Details } from '../program/Details';
import { depthsOf, HEAVY, isOpen, opened, shownOf, toggled, usualDepth, usually, type Folding } from '../program/fold';
import { Loops } from '../program/Loops';
import { marksOf } from '../program/marks';
import { clustersOf, lineOf, modelOf, programOf, ranksIn, readingOf, readingsOf, runBy, sameIn, SHORT, shortOf, threadsOf, type Line, type Model, type Reading } from '../program/model';
import '../program/program.css';
import { Text } from '../program/Text';
import { tripsOf } from '../program/trips';
import { SaveTools } from '../save/SaveTools';
import { inRanges, parseRanges, printRanges, rangesOf } from '../state/ranges';
import { goTo, select, useParam, useSelection } from '../store';

const KEYS: Keys = {
  title: 'Program',
  keys: [
    ['↑ ↓', 'go from line to line; Page up and down, Home, End'],
    ['← →', 'fold and unfold; then to the block round it, into the block'],
    ['Enter', 'select: bursts of compute, calls of MPI, ranks of IF; click'],
    ['t', 'the next trip of a loop, on the timeline'],
    ['- +', 'fold all to a depth less, or more'],
    ['/', 'look for text, function or file'],
    ['n N', 'the next line that was found, the one before'],
  ],
};

const NAMES: Readonly<Record<Reading, readonly [name: string, says: string]>> = {
  code: ['code', 'from the machine code of functions, and from the order of lines where that was not read'],
  order: ['order of lines', 'from the order of lines alone, to compare'],
  thesis: ['published method', 'classes of repetitions and the time between them, by the method of Martínez Vera (2018), to compare'],
};

export function Program() {
  const pack = usePack();
  const main = modelOf(pack);
  const readings = readingsOf(pack);
  const [asked, ask] = useParam('loops', readings[0] ?? '');
  const [, setAt] = useParam('at', '');
  if (!main) return <Empty>The structure of the program is not in this page: the directory has no program.json. Measure the program again, or run moriens analyze on its trace; then moriens report DIR writes this page again.</Empty>;
  const reading = readings.find((r) => r === asked) ?? readings[0]!;
  const m = readingOf(pack, reading)!;
  const plot = reading === 'thesis' ? pack.json.program?.readings?.thesis?.plot : undefined;
  return (
    <div class={plot ? 'program program-thesis' : 'program'}>
      {readings.length > 1 ? (
        <div class="canvas-bar program-readings" role="group" aria-label="How loops are found">
          Loops:
          {readings.map((r) => (
            <button
              key={r}
              type="button"
              aria-pressed={r === reading}
              title={NAMES[r][1]}
              onClick={() => {
                if (r === reading) return;
                setAt(''); // lines have other numbers
                ask(r);
              }}
            >
              {NAMES[r][0]}
            </button>
          ))}
        </div>
      ) : null}
      {plot ? <Loops m={m} main={main} loops={plot} /> : null}
      {m.lines.length > 0 ? <View key={reading} m={m} main={main} reading={reading} /> : <Empty>{plot ? 'The published method finds no loop.' : 'The program made no MPI calls: there is nothing to show.'}</Empty>}
    </div>
  );
}

function View({ m, main, reading }: { m: Model; main: Model; reading: Reading }) {
  const pack = usePack();
  const selection = useSelection();
  useKeyHelp(KEYS);
  const [at, setAt] = useParam('at', '');
  const [depth, setDepth] = useParam('depth', '');
  const [others, setOthers] = useParam('folded', '');
  const [text, setText] = useParam('find', '');
  const [only, setOnly] = useParam('only-ranks', 'no');
  const [all, setShort] = useParam('short', 'no');
  const [trip, setTrip] = useParam('trip', '0');
  const [, setZoom] = useParam('zoom', '');
  const field = useRef<HTMLInputElement>(null);
  const deepest = useMemo(() => depthsOf(m).length - 1, [m]);
  const usual = useMemo(() => usually(m), [m]);
  // Lines are selected in all views by their numbers in the program itself.
  const selected = sameIn(m, main, lineOf(pack, selection));
  const targetOf = (l: Line | null): number | null => (l && m.joined ? (main.lines[sameIn(main, m, l.at)]?.node.id ?? null) : null);
  const folding = useMemo((): Folding => {
    const ids = new Set((parseRanges(others) ?? []).flatMap(([a, b]) => m.lines.filter((l) => l.node.id >= a && l.node.id <= b).map((l) => l.node.id)));
    return { depth: /^\d{1,4}$/.test(depth) ? Math.min(deepest, Number(depth)) : usual, others: ids };
  }, [m, depth, others, usual, deepest]);
  const level = folding.depth === HEAVY ? usualDepth(m) : folding.depth;
  const setFolding = (f: Folding) => setOthers(printRanges(rangesOf(f.others)));
  const setAll = (d: Folding['depth']) => {
    setDepth(d === usual ? '' : `${d}`);
    setOthers('');
  };
  const mark = (i: number) => {
    setAt(`${m.lines[i]!.node.id}`);
    if (i !== marked) setTrip('0');
    const f = opened(m, folding, i);
    if (f !== folding) setFolding(f);
  };
  const runs = useMemo(() => (selection.threads ? runBy(m, ranksIn(pack, selection.threads)) : null), [pack, m, selection.threads]);
  const hide = only === 'yes' && runs !== null;
  const found = useMemo(() => matching(m, text), [m, text]);
  const lit = useMemo(() => m.lines.map((l) => selection.clusters !== null && l.node.clusters.some((c) => selection.clusters!.includes(c.cluster))), [m, selection.clusters]);
  // Without a line that was marked, the selected one, else the first with what is selected.
  const marked = m.ofID.get(Number(at)) ?? (selected >= 0 ? selected : lit.indexOf(true));
  const short = useMemo(() => shortOf(m), [m]);
  const shown = useMemo(() => {
    const asked = new Set([marked, selected, ...found]);
    return shownOf(m, folding).filter((i) => (!hide || runs[i]) && (all === 'yes' || !short.has(i) || asked.has(i) || lit[i]));
  }, [m, folding, hide, runs, all, short, marked, selected, found, lit]);
  const line = m.lines[marked] ?? null;
  // Where another view, or the address, has marked a line, all round it is open.
  useEffect(() => {
    if (marked < 0) return;
    const f = opened(m, folding, marked);
    if (f !== folding) setFolding(f);
  }, [m, marked]);
  const trips = useMemo(() => (line?.node.kind === 'loop' ? tripsOf(pack, m, line.at, (t) => inRanges(selection.threads, t)) ?? tripsOf(pack, m, line.at, () => true) : null), [pack, m, line, selection.threads]);
  const now = trips ? (Number(trip) || 0) % trips.trips.length : 0;
  const showTrip = () => {
    const span = trips?.trips[now];
    if (!span) return;
    const room = (span.to - span.from) / 4;
    setTrip(`${(now + 1) % trips.trips.length}`);
    setZoom(`${span.from - room}~${span.to + room}`);
    goTo('timeline', { fromNS: Math.floor(span.from), toNS: Math.ceil(span.to) });
  };
  const act = (l: Line) => {
    const n = l.node;
    const target = targetOf(l);
    if (n.kind === 'if') {
      if (l.ranks) select({ threads: sameRanges(selection.threads, l.ranks) ? null : threadsOf(pack, l.ranks) });
    } else if (n.kind === 'compute') {
      if (target !== null && selection.line === target) select({ line: null, clusters: null });
      else select({ line: target, clusters: clustersOf(n) });
    } else if (target !== null) select(selection.line === target ? { line: null } : { line: target, clusters: null });
  };
  const sameRanges = (threads: typeof selection.threads, ranks: readonly number[]) => threads !== null && printRanges(threads) === printRanges(threadsOf(pack, ranks));
  const pick = (i: number) => {
    const l = m.lines[i]!;
    if (i === marked && l.node.kind === 'loop') showTrip();
    mark(i);
    if (['mpi', 'compute', 'if'].includes(l.node.kind)) act(l);
  };
  const seek = (step: 1 | -1) => {
    if (found.length === 0) return;
    const next = step > 0 ? found.find((i) => i > marked) : found.findLast((i) => i < marked);
    mark(next ?? (step > 0 ? found[0]! : found.at(-1)!));
  };
  useKeys((e) => {
    const keys: Record<string, () => void> = {
      '/': () => field.current?.focus(),
      n: () => seek(1),
      N: () => seek(-1),
      '-': () => setAll(Math.max(0, level - 1)),
      '+': () => setAll(Math.min(deepest, level + 1)),
    };
    if (!Object.hasOwn(keys, e.key)) return false;
    keys[e.key]!();
    return true;
  });
  const table = () => ({
    columns: ['number', 'depth', 'file', 'line', 'text', 'kind', 'by', 'compute_ns', 'mpi_ns', 'count', 'mean_ns'],
    rows: m.lines.map((l) => [l.node.id, l.depth, l.node.file, l.node.line, l.text, l.node.kind, l.node.by, l.computeNS, l.mpiNS, l.node.count, l.node.kind === 'mpi' && l.node.count > 0 ? l.node.mpi_ns / l.node.count : l.node.mean_ns]),
  });
  return (
    <>
      <Head m={m} reading={reading} />
      <div class="canvas-bar">
        <label class="field">
          Find
          <input
            ref={field}
            type="search"
            value={text}
            placeholder="text, function or file"
            aria-keyshortcuts="/"
            onInput={(e) => setText(e.currentTarget.value)}
            onKeyDown={(e) => {
              if (e.key !== 'Enter') return;
              seek(e.shiftKey ? -1 : 1);
              e.preventDefault();
            }}
          />
        </label>
        {text.trim() ? (
          <span class="found-tools">
            <button type="button" disabled={found.length === 0} onClick={() => seek(-1)} title="The line before that was found (key N)" aria-keyshortcuts="N">
              Previous
            </button>
            <button type="button" disabled={found.length === 0} onClick={() => seek(1)} title="The next line that was found (key n)" aria-keyshortcuts="n">
              Next
            </button>
            <span class="note" role="status">
              {found.length === 0 ? 'not found' : found.includes(marked) ? `${count(found.indexOf(marked) + 1)} of ${plural(found.length, 'line')}` : plural(found.length, 'line')}
            </span>
          </span>
        ) : null}
        <label class="field">
          Unfold
          <select value={others === '' ? folding.depth : ''} onChange={(e) => setAll(e.currentTarget.value === HEAVY ? HEAVY : Number(e.currentTarget.value))} title="Which blocks are open (keys - and +: how deep)">
            {others === '' ? null : <option value="">as chosen</option>}
            {usual === HEAVY ? <option value={HEAVY}>what takes most time</option> : null}
            {Array.from({ length: deepest + 1 }, (_, d) => (
              <option key={d} value={d}>
                {d === deepest ? 'all' : d === 0 ? 'nothing' : `to depth ${d}`}
              </option>
            ))}
          </select>
        </label>
        {short.size > 0 ? (
          <label title="Lines of computation that take a smaller share of all computing. Sums of blocks have them in any case">
            <input type="checkbox" checked={all === 'yes'} onChange={(e) => setShort(e.currentTarget.checked ? 'yes' : 'no')} /> compute below {percent(SHORT)} ({plural(short.size, 'line')})
          </label>
        ) : null}
        <RankField />
        {runs ? (
          <label>
            <input type="checkbox" checked={hide} onChange={(e) => setOnly(e.currentTarget.checked ? 'yes' : 'no')} /> Only lines that {threadsName(pack, selection.threads!)} run{selection.threads!.length === 1 && selection.threads![0]![0] === selection.threads![0]![1] ? 's' : ''}
          </label>
        ) : null}
        <span class="stretch" />
        <SaveTools name="program" table={table} />
      </div>
      <div class="program-main">
        <Text m={m} shown={shown} open={(i) => isOpen(m, folding, i)} marked={marked} selected={selected} lit={(i) => lit[i]!} dim={(i) => runs?.[i] === 0} found={useMemo(() => new Set(found), [found])} toggle={(i) => setFolding(toggled(m, folding, i))} pick={pick} move={mark} trip={showTrip} />
        <Details m={m} line={line} trips={trips} trip={now} nextTrip={showTrip} act={act} target={targetOf(line)} />
      </div>
    </>
  );
}

// matching lists the lines that have a text in their own, or in the name of their file.
function matching(m: Model, text: string): number[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return [];
  return m.lines.filter((l) => `${l.text}\n${l.node.file}:${l.node.line}`.toLowerCase().includes(wanted)).map((l) => l.at);
}

// Head says how much is certain, on what basis, and what is not known.
function Head({ m, reading }: { m: Model; reading: Reading }) {
  const p = programOf(usePack(), reading)!;
  const marks = useMemo(() => marksOf(m, p.basis), [m, p]);
  const certain = (v: number) => percent(v < 1 && v > 0.999 ? 0.999 : v);
  const basis: Record<string, string> = { code: 'the machine code', order: 'the order of lines', sequence: 'repetitions and the time between them' };
  return (
    <div class="program-head">
      <p>
        {p.basis === 'sequence' ? 'In loops:' : 'Rules found for'} <strong>{certain(p.certain.calls)}</strong> of the MPI calls and <strong>{certain(p.certain.time)}</strong> of the time{p.basis === 'sequence' ? ' in MPI' : ''}. Loops come from {basis[p.basis] ?? 'an unknown basis'}. Figures are of all {plural(m.ranks, 'rank')}:{' '}
        <span class="key">
          {p.basis === 'sequence' ? null : (
            <>
              <svg class="timeshare" width="10" height="10" aria-hidden="true">
                <rect class="compute" width="10" height="10" />
              </svg>{' '}
              computing{' '}
            </>
          )}
          <svg class="timeshare" width="10" height="10" aria-hidden="true">
            <rect class="mpi" width="10" height="10" />
          </svg>{' '}
          MPI{p.basis === 'sequence' ? '; the method has no computing' : ''}
        </span>
      </p>
      {p.why.length + marks.length > 0 ? (
        <ul class="plain note">
          {p.why.map((text) => (
            <li key={text}>{text}</li>
          ))}
          {marks.map(({ mark, text }) => (
            <li key={mark}>
              <code>{mark}</code>: {text}
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}

// RankField selects ranks by their numbers, in all views.
function RankField() {
  const pack = usePack();
  const { threads } = useSelection();
  const said = useMemo(() => (threads ? printRanges(rangesOf(ranksIn(pack, threads))) : ''), [pack, threads]);
  const take = (text: string) => {
    if (text.trim() === '') {
      select({ threads: null });
      return;
    }
    const ranges = parseRanges(text.replace(/\s+/g, ''));
    const wanted = ranges && threadsOf(pack, [...new Set(pack.column('thread.rank'))].filter((r) => inRanges(ranges, r)));
    if (wanted && wanted.length > 0) select({ threads: wanted });
  };
  return (
    <label class="field">
      Ranks
      <input type="text" class="ranks" key={said} defaultValue={said} placeholder="all" title="Numbers of ranks, such as 0,2-5: they are selected in all views" onChange={(e) => take(e.currentTarget.value)} />
    </label>
  );
}
