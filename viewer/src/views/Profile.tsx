// Where the time goes: what ran in what, by phase or by call path; ranks in a phase; instances of a phase.
import { useMemo, useRef, useState } from 'preact/hooks';
import { clustersOf } from '../data/clusters';
import { usePack } from '../data/context';
import { threadName } from '../data/names';
import '../draw/canvas.css';
import { Bars } from '../flame/Bars';
import { Flame, rowsOf } from '../flame/Flame';
import '../flame/flame.css';
import { Instances } from '../flame/Instances';
import { below, frameOf, fullName, imbalance, isInner, kindsIn, matching, pathOf, stackOf, timeOf, treeOf, type By, type Tree } from '../flame/model';
import { count, ns, percent, plural, ratio } from '../format';
import { useKeyHelp, useKeys, type Keys } from '../parts/keys';
import { Listing } from '../parts/Listing';
import { Empty, Panel } from '../parts/Panel';
import { SizedBox } from '../parts/SizedBox';
import { SaveTools } from '../save/SaveTools';
import { select, useParam, useSelection } from '../store';

const KEYS: Keys = {
  title: 'Profile',
  keys: [
    ['← → ↑ ↓', 'in a picture: go from frame to frame, bar to bar, point to point'],
    ['Enter', 'zoom to the frame; select the rank of the bar, the time of the point; click'],
    ['Backspace', 'the zoom before'],
    ['0', 'show the whole program'],
    ['/', 'look for names'],
  ],
};

export function Profile() {
  const pack = usePack();
  const p = pack.json.profile;
  const [said, setBy] = useParam('tree', p?.phases || !p?.paths ? 'phase' : 'path');
  const by: By = said === 'path' ? 'path' : 'phase';
  const t = treeOf(pack, by);
  if (!p || !t || !(t.ns[0]! > 0)) return <Empty>{p ? 'No time is known: nothing ran, or nothing was recorded.' : 'The profile is not in this page: the directory has no profile.parquet. moriens report DIR writes this page again.'}</Empty>;
  return <View key={by} t={t} setBy={setBy} />;
}

function View({ t, setBy }: { t: Tree; setBy: (by: By) => void }) {
  const pack = usePack();
  useKeyHelp(KEYS);
  const [at, setAt] = useParam('frame', '');
  const [into, setInto] = useParam('into', '');
  const [text, setText] = useParam('find', '');
  const field = useRef<HTMLInputElement>(null);
  const [before, setBefore] = useState<readonly string[]>([]); // zooms
  const [frame, root] = [useMemo(() => frameOf(t, at), [t, at]), useMemo(() => frameOf(t, into), [t, into])];
  const found = useMemo(() => matching(t, text), [t, text]);
  const choose = (i: number) => setAt(pathOf(t, i));
  const zoom = (i: number) => {
    const path = pathOf(t, i);
    if (path !== into) setBefore([...before, into]);
    setInto(path);
    setAt(path);
  };
  const back = () => {
    if (before.length === 0) return;
    setInto(before.at(-1)!);
    setAt(before.at(-1)!);
    setBefore(before.slice(0, -1));
  };
  useKeys((e) => {
    if (e.key !== '/') return false;
    field.current?.focus();
    return true;
  });
  // Bars and instances are of phases: of the one that the selected frame is in.
  const phases = treeOf(pack, 'phase') ?? t;
  const scope = t.by === 'phase' ? (stackOf(t, frame).findLast((i) => isInner(t.type[i]!)) ?? 0) : 0;
  const instances = t.by === 'phase' ? ownerOfFrame(t, scope) : '';
  const what = frame === scope || t.by !== 'phase' ? '' : t.label[frame]!;
  return (
    <div class="listings profile">
      <Notes />
      <Tools t={t} setBy={setBy} text={text} setText={setText} field={field} found={found} root={root} />
      <div class="listings-columns profile-columns">
        <Picture t={t} root={root} frame={frame} found={found} zoom={zoom} choose={choose} back={before.length > 0 ? back : null} />
        <Table t={t} root={root} frame={frame} found={found} choose={choose} />
      </div>
      <Bars t={phases} scope={scope} name={stackOf(phases, scope).map((i) => phases.label[i]!).slice(scope === 0 ? 0 : 1).join(' / ')} />
      <Instances owner={instances} what={what} />
    </div>
  );
}

// ownerOfFrame is the phase of a frame as series of instances name it.
function ownerOfFrame(t: Tree, i: number): string {
  if (t.type[i] === 'iterations') return `#${t.cluster[i]!}`;
  return stackOf(t, i).slice(1).map((k) => t.label[k]!.replace(/[\\/]/g, '\\$&')).join('/');
}

// Notes say what is missing or coarser than in the directory.
function Notes() {
  const p = usePack().json.profile;
  const says: string[] = [];
  if (!p) return null;
  if (p.format < 2) says.push('The directory is of an earlier version: phases are named without those round them, calls and bursts are whole in one phase, and time without a record is left out.');
  if (!p.phases) says.push('The program names no phases: in their place are the iterations that were found, if any.');
  if (!p.paths) says.push('The functions round calls are not known: the directory has no callpaths.json, or the run recorded no call paths.');
  if (p.left_out) says.push(p.left_out);
  if (says.length === 0) return null;
  return (
    <ul class="plain note">
      {says.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

interface ToolsProps {
  readonly t: Tree;
  readonly setBy: (by: By) => void;
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly field: { current: HTMLInputElement | null };
  readonly found: ReadonlySet<number> | null;
  readonly root: number;
}

function Tools({ t, setBy, text, setText, field, found, root }: ToolsProps) {
  const sum = found ? timeOf(t, found, root) : 0;
  return (
    <div class="canvas-bar">
      <span role="group" aria-label="Tree">
        <button type="button" aria-pressed={t.by === 'phase'} title="Which phase lies in which, and what they consist of" onClick={() => setBy('phase')}>
          By phase
        </button>{' '}
        <button type="button" aria-pressed={t.by === 'path'} title="Which function calls which" onClick={() => setBy('path')}>
          By call path
        </button>
      </span>
      <label class="field">
        Find
        <input ref={field} type="search" value={text} placeholder="name, file or cluster" aria-keyshortcuts="/" onInput={(e) => setText(e.currentTarget.value)} />
      </label>
      <span class="note" role="status">
        {found ? `${plural(found.size, 'frame')}, ${percent(sum / t.ns[root]!)} of the time of ${t.label[root]!}` : ''}
      </span>
    </div>
  );
}

interface PartProps {
  readonly t: Tree;
  readonly root: number;
  readonly frame: number;
  readonly found: ReadonlySet<number> | null;
  readonly choose: (frame: number) => void;
}

function Picture({ t, root, frame, found, zoom, choose, back }: PartProps & { zoom: (frame: number) => void; back: (() => void) | null }) {
  const box = useRef<HTMLDivElement>(null);
  const stack = stackOf(t, root);
  return (
    <Panel
      title={t.by === 'phase' ? 'Phases' : 'Call paths'}
      class="profile-picture"
      tools={
        <>
          {back ? (
            <button type="button" onClick={back} aria-keyshortcuts="Backspace">
              Back
            </button>
          ) : null}
          {root > 0 ? (
            <button type="button" onClick={() => zoom(0)} aria-keyshortcuts="0">
              Show all
            </button>
          ) : null}
          <SaveTools name={`profile by ${t.by === 'phase' ? 'phase' : 'call path'}`} picture={box} />
        </>
      }
    >
      <nav class="crumbs" aria-label="What is zoomed into">
        {stack.map((i, k) => (
          <span key={i}>
            {k > 0 ? ' › ' : ''}
            {i === root ? (
              <span aria-current="true">{fullName(t, i)}</span>
            ) : (
              <button type="button" class="link" onClick={() => zoom(i)}>
                {fullName(t, i)}
              </button>
            )}
          </span>
        ))}
      </nav>
      <div ref={box} class="flame-box">
        <SizedBox class="flame-sized">{({ width }) => <Flame t={t} root={root} frame={frame} found={found} width={width} zoom={zoom} select={choose} back={back ?? (() => undefined)} />}</SizedBox>
      </div>
      <p class="note">
        Width is time of all threads; below a frame is what ran in it, the longest at the left. Colours are those of clusters, MPI is grey. Click: zoom.
        {t.by === 'path' ? ' Inclusive time of a function is an estimate: MPI below it is exact; a burst between two calls counts in the innermost function that both are in, which may have been left and entered again between them.' : ''}
      </p>
      <Details t={t} root={root} frame={frame} />
    </Panel>
  );
}

// Details are what is known of the frame that is selected, and what to do with it in other views.
function Details({ t, root, frame }: { t: Tree; root: number; frame: number }) {
  const pack = usePack();
  const selection = useSelection();
  const kinds = useMemo(() => kindsIn(t, frame).filter((id) => id >= 1), [t, frame]);
  const clusters = useMemo(() => clustersOf(pack.json.clusters?.clusters ?? [], kinds), [pack, kinds]);
  const all = JSON.stringify([...(selection.clusters ?? [])].sort()) === JSON.stringify([...clusters].sort());
  const classes = t.classes.map((of, c) => ({ c, mean: of[frame]! / (pack.json.manifest?.kept.classes[c]?.size ?? NaN) })).filter(({ mean }) => Number.isFinite(mean));
  return (
    <div class="profile-details" aria-label="Selected frame" role="region">
      <h3>{fullName(t, frame)}</h3>
      <dl>
        {[...rowsOf(pack, t, frame, root), ...(classes.length > 1 ? [['mean of classes', classes.slice(0, 8).map(({ c, mean }) => `${c + 1}: ${ns(mean)}`).join(', ') + (classes.length > 8 ? `, and ${count(classes.length - 8)} more` : '')] as [string, string]] : [])].map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p>
        {clusters.length > 0 ? (
          <button type="button" aria-pressed={all} onClick={() => select({ clusters: all ? null : clusters })}>
            {kinds.length > 1 ? `Select its ${plural(kinds.length, 'kind')} of computation in all views` : clusters.length === 1 ? `Select cluster ${clusters[0]!} in all views` : `Select cluster ${kinds[0]!} and its ${plural(clusters.length - 1, 'variant')} in all views`}
          </button>
        ) : null}{' '}
        {t.whose[frame]! >= 0 ? (
          <button type="button" onClick={() => select({ threads: [[t.whose[frame]!, t.whose[frame]!]] })}>
            Select {threadName(pack, t.whose[frame]!)}, which has the most
          </button>
        ) : null}
      </p>
    </div>
  );
}

function Table({ t, root, frame, found, choose }: PartProps) {
  const rows = useMemo(() => {
    const all = below(t, root).filter((i) => t.ns[i]! > 0 && (!found || found.has(i)));
    return all.sort((a, b) => t.ns[b]! - t.ns[a]! || a - b);
  }, [t, root, found]);
  const per = (i: number) => t.ns[i]! / t.calls[i]!;
  return (
    <Listing
      of="profile"
      table="profile.parquet"
      title={root > 0 ? `In ${t.label[root]!}` : 'Frames'}
      name="frames"
      note={`${plural(rows.length, 'frame')}${found ? ' with that name' : ''}; a row selects its frame`}
      sortable
      rows={rows}
      chosen={(i) => i === frame}
      pick={choose}
      empty="No frame has that name."
      fields={[
        { title: 'Name', words: true, class: 'path', show: (i) => fullName(t, i), hint: (i) => stackOf(t, i).map((k) => fullName(t, k)).join(' › '), csv: 'name', value: (i) => stackOf(t, i).map((k) => fullName(t, k)).join(' > ') },
        { title: 'Incl', says: 'inclusive: with what is in it, of all threads', show: (i) => ns(t.ns[i]!), csv: 'inclusive_ns', value: (i) => t.ns[i]! },
        { title: 'Share', says: 'of the time of the program', show: (i) => percent(t.ns[i]! / t.ns[0]!), csv: 'share', value: (i) => t.ns[i]! / t.ns[0]! },
        { title: 'Excl', says: 'exclusive: without the phases or functions in it; of a function the MPI calls that it makes and the bursts between them', show: (i) => ns(t.own[i]!), csv: 'exclusive_ns', value: (i) => t.own[i]! },
        { title: 'Calls', says: 'calls of MPI, bursts of clusters, instances of phases; of functions not known', show: (i) => count(t.calls[i]!), csv: 'calls', value: (i) => t.calls[i]! },
        { title: 'Per call', says: 'inclusive time over calls', show: (i) => ns(per(i)), csv: 'per_call_ns', value: per },
        { title: 'Imbalance', says: 'the most of a thread over the mean of the threads that have it', show: (i) => ratio(imbalance(t, i)), csv: 'imbalance', value: (i) => imbalance(t, i) },
      ]}
    />
  );
}
