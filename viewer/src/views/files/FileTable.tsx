import type { Manifest } from '../../data/manifest';
import type { Pack } from '../../data/pack';
import { bytes, list, plural } from '../../format';
import { Heads, numbers } from '../../parts/Heads';
import { Empty, Panel } from '../../parts/Panel';
import { SaveTools } from '../../save/SaveTools';
import { total } from '../../data/groups';

// What opens a file, by the end of its name.
const opens: readonly [RegExp, string][] = [
  [/\.prv(\.gz)?$/, 'Paraver'],
  [/\.(pcf|row|cfg)$/, 'Paraver'],
  [/\.parquet$/, 'DuckDB, pandas, Polars, R'],
  [/\.json$/, 'jq, any editor'],
  [/\.(svg|html)$/, 'a browser'],
];

export function FileTable({ pack }: { pack: Pack }) {
  const files = filesOf(pack.json.manifest);
  const unknown = files.filter((f) => f.bytes === 0).map((f) => f.name);
  return (
    <Panel
      title="In the run directory"
      note={files.length > 0 ? `${plural(files.length, 'file')}, ${bytes(total(files.map((f) => f.bytes)))}${unknown.length > 0 ? ` without ${list(unknown)}` : ''}` : undefined}
      tools={files.length > 0 ? <SaveTools name="files" table={() => ({ columns: ['name', 'bytes', 'content'], rows: files.map((f) => [f.name, f.bytes || null, f.content]) })} /> : undefined}
    >
      {files.length === 0 ? (
        <Empty>{pack.json.mode === 'live' ? 'The files are written when the run ends.' : 'There is no list of files: manifest.json is missing or unreadable.'}</Empty>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Files of the run directory">
          <table>
            <Heads of={['File', numbers('Size'), 'Content', 'Opens with']} />
            <tbody>
              {files.map((f) => (
                <tr key={f.name}>
                  <td class="name">
                    <Name pack={pack} name={f.name} />
                  </td>
                  <td class="n">{f.bytes > 0 ? bytes(f.bytes) : '–'}</td>
                  <td>{f.content}</td>
                  <td class="with">{opens.find(([end]) => end.test(f.name))?.[1] ?? ''}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

// filesOf are the files that the manifest lists, and itself: its size is what the directory has beyond them.
// report.html, which holds the manifest, is there without a size, and not in that of the directory.
function filesOf(m: Manifest | null): Manifest['files'] {
  if (!m || m.files.length === 0) return [];
  const own = m.reduction.bytes - total(m.files.map((f) => f.bytes));
  return [...m.files, { name: 'manifest.json', bytes: Math.max(0, own), content: 'description of the run and its files' }];
}

// report.html lies beside the files. Only a plain path below it becomes a link: names come from outside.
function Name({ pack, name }: { pack: Pack; name: string }) {
  const linked = pack.json.mode === 'report' && location.protocol === 'file:' && /^[\w-][\w.-]*(\/[\w-][\w.-]*)*$/.test(name);
  return <code>{linked ? <a href={`./${name}`}>{name}</a> : name}</code>;
}
