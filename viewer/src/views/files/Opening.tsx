// How the trace is opened with other tools.
import { useState } from 'preact/hooks';
import { runName } from '../../data/run';
import type { Pack } from '../../data/pack';
import { count, plural } from '../../format';
import { Panel } from '../../parts/Panel';
import { copyText, fileName, saveFile } from '../../save/file';
import { handOff, traceOf } from '../../save/perfetto';

export function Opening({ pack }: { pack: Pack }) {
  const name = runName(pack).replace(/[^\w-].*$/, '') || 'run';
  const views = pack.json.manifest?.files.filter((f) => f.name.endsWith('.cfg')).map((f) => f.name) ?? [];
  return (
    <Panel title="Open the trace with" note="DIR is the run directory" class="opening">
      <section>
        <h3>Paraver</h3>
        <Command text="wxparaver DIR/trace.prv" />
        {views.length > 0 ? <p>Then File › Load Configuration with {views.join(' or ')}. Bursts have the colours of this page.</p> : null}
      </section>
      <section>
        <h3>Perfetto</h3>
        <Perfetto pack={pack} />
        <p>All calls, counters and call paths:</p>
        <Command text={`moriens export DIR --format perfetto --out ${name}.pftrace.gz`} />
      </section>
      <section>
        <h3>Vampir and other OTF2 tools</h3>
        <Command text={`moriens export DIR --format otf2 --out ${name}`} />
        <Command text={`vampir ${name}/traces.otf2`} />
      </section>
      <section>
        <h3>Tables</h3>
        <Command text={`moriens export DIR --format csv --out ${name}-tables`} />
        <Command text={`duckdb -c "select cluster, count(*), sum(duration_ns * weight) / 1e9 as s from 'DIR/bursts.parquet' group by 1 order by 3 desc"`} />
      </section>
    </Panel>
  );
}

function Perfetto({ pack }: { pack: Pack }) {
  const [said, say] = useState('');
  const { calls, messages } = pack.json.detail;
  const every = pack.json.points.count === pack.json.points.of;
  const bursts = every ? pack.json.points.count : Array.from(pack.column('points.window')).filter((w) => w >= 0).length;
  const trace = () => new Blob(traceOf(pack), { type: 'application/json' });
  const give = () => {
    say('Opening the Perfetto UI …');
    handOff(trace, `${runName(pack)} · moriens`).then(
      () => say('The Perfetto UI has the trace.'),
      (err: unknown) => say(`Not opened: ${err instanceof Error ? err.message : String(err)}. Save it, and drag the file into the Perfetto UI.`),
    );
  };
  if (bursts + calls === 0) return <p>This page holds no burst or call in full detail.</p>;
  return (
    <>
      <p>
        <button type="button" onClick={give}>
          Open in the Perfetto UI ↗
        </button>{' '}
        <button type="button" onClick={() => saveFile(fileName(pack, 'perfetto', 'json'), trace())}>
          Save for Perfetto
        </button>
      </p>
      <p>
        What this page has of the trace: {plural(bursts, 'burst')}, {count(calls)} MPI calls, {plural(messages, 'message')}. A click opens ui.perfetto.dev in a new window and hands
        them over inside the browser; nothing is uploaded.
      </p>
      <p role="status">{said}</p>
    </>
  );
}

function Command({ text }: { text: string }) {
  const [said, say] = useState('Copy');
  const copy = () => {
    copyText(text).then(
      () => say('Copied'),
      () => say('Not allowed'),
    );
    setTimeout(() => say('Copy'), 2000);
  };
  return (
    <div class="shell-command">
      <code tabIndex={0}>{text}</code>
      <button type="button" class="quiet" aria-label={`Copy: ${text}`} onClick={copy}>
        {said}
      </button>
    </div>
  );
}
