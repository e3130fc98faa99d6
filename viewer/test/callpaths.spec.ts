// All files and tables of one run name call paths alike: DuckDB joins them, by number and by name, without an empty
// row.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { env, measureProgram, MORIENS, ROOT, type RealRun } from './real';

const run = promisify(execFile);
const SOURCES = join(ROOT, 'viewer/test/callpaths');

let measured: RealRun;
let db: DuckDBConnection;
let asked: string[]; // an example of the documentation
beforeAll(async () => {
  measured = await measureProgram(async (work) => {
    const [library, app] = [join(work, 'libclosed.so'), join(work, 'open')];
    await Promise.all([
      run('mpicc.openmpi', ['-O1', '-s', '-shared', '-fPIC', '-o', library, join(SOURCES, 'closed.c')], { env }),
      run('mpicxx.openmpi', ['-O1', '-g', '-c', '-o', `${app}.o`, join(SOURCES, 'open.cc')], { env }),
    ]);
    await run('mpicxx.openmpi', ['-o', app, `${app}.o`, library, `-Wl,-rpath,${work}`], { env });
    return ['mpirun.openmpi', '--oversubscribe', '-n', '2', app];
  }, ['--callpath', '8', '--keep-bursts', 'all']);
  const export_ = (format: string, name: string) => run(MORIENS, ['export', measured.dir, '--format', format, '--out', join(measured.dir, '..', name)]);
  await Promise.all([export_('parquet', 'parquet'), export_('csv', 'csv'), export_('prv', 'again.prv')]);
  db = await (await DuckDBInstance.create(':memory:')).connect();
  // The views are those of the documentation.
  const doc = readFileSync(join(ROOT, 'docs/format/callpaths.md'), 'utf8').split('## In DuckDB')[1]?.split('\n## ')[0] ?? '';
  for (const statement of doc.split(';').slice(0, 3)) await db.run(statement.replaceAll('callpaths.json', at('callpaths.json')));
  await db.run(`create view modules as select * from (select generate_subscripts(modules, 1) - 1 as number, unnest(modules, max_depth := 2) from '${at('callpaths.json')}')`);
  asked = doc.split(';').slice(3, 5);
}, 120_000);
afterAll(() => {
  db.closeSync();
  measured.remove();
});

const at = (name: string) => join(measured.dir, name);
const rows = async (sql: string) => (await db.runAndReadAll(sql)).getRowsJson();
const one = async (sql: string) => Number((await rows(sql))[0]?.[0]);

// Where call paths stand: a table as DuckDB reads it, the columns that name one, and those that number it.
// How many clusters there are depends on the machine.
function tables(): { table: string; names: string[]; numbers: string[]; least: number }[] {
  const both = { names: ['call_path_before', 'call_path_after'], numbers: ['path_before', 'path_after'], least: 10 };
  const [parquet, csv] = [at('../parquet'), at('../csv')];
  const csvOf = (name: string) => `read_csv('${csv}/${name}.csv', delim = ',')`;
  return [
    { table: `'${at('bursts.parquet')}'`, ...both },
    { table: `'${at('transfers.parquet')}'`, names: [], numbers: ['path'], least: 4 },
    { table: `(select * from '${at('profile.parquet')}' where call_path <> '')`, names: ['call_path'], numbers: [], least: 10 },
    { table: `(select unnest(call_paths) as name from read_json('${at('structure.json')}'))`, names: ['name'], numbers: [], least: 10 },
    { table: `(select unnest(call_paths, max_depth := 2) from read_json('${at('clusters.json')}'))`, names: ['name'], numbers: [], least: 0 },
    { table: `'${parquet}/bursts.parquet'`, ...both },
    { table: `'${parquet}/calls.parquet'`, names: ['call_path'], numbers: ['path'], least: 10 },
    { table: `'${parquet}/clusters.parquet'`, ...both, least: 0 },
    { table: csvOf('bursts'), ...both },
    { table: csvOf('calls'), names: ['call_path'], numbers: ['path'], least: 10 },
    { table: csvOf('clusters'), ...both, least: 0 },
  ];
}

test('every table joins the call paths, by number and by name', async () => {
  const unique = await one('select count(distinct name) from paths');
  expect(unique).toBe(await one('select count(*) from paths'));
  for (const { table, names, numbers, least } of tables()) {
    for (const i of [0, 1].slice(0, Math.max(names.length, numbers.length))) {
      const [name, number] = [names[i], numbers[i]];
      const on = [...(name ? [`p.name = t.${name}`] : []), ...(number ? [`p.path = t.${number}::int`] : [])].join(' and ');
      const [all, joined, different] = (await rows(`select count(*), count(p.path), count(distinct p.path) from ${table} t left join paths p on ${on}`))[0] ?? [];
      expect([table, Number(joined)]).toEqual([table, Number(all)]);
      expect([table, Number(different) >= least]).toEqual([table, true]);
    }
  }
  expect(asked).toHaveLength(2);
  for (const question of asked) expect((await rows(question.replace('bursts.parquet', at('bursts.parquet')))).length).toBeGreaterThan(1);
  // No two tables of calls or of bursts have different ones.
  const [files, exported] = [`'${at('bursts.parquet')}'`, `'${at('../parquet')}/bursts.parquet'`];
  const columns = 'world, rank, thread, start_ns, call_path_before, call_path_after, path_before, path_after';
  expect(await rows(`(select ${columns} from ${files} except select ${columns} from ${exported}) union all (select ${columns} from ${exported} except select ${columns} from ${files})`)).toEqual([]);
});

test('the names are those that the program must have', async () => {
  const named = (await rows('select name from paths')).map(([name]) => name as string);
  expect(named.filter((n) => n.startsWith('MPI_Barrier@the "odd", one\n=2.c:7'))).toHaveLength(1);
  expect(named.filter((n) => n.startsWith('MPI_Bcast@,".c:9'))).toHaveLength(1);
  const calls = async (where: string) => one(`select coalesce(sum(calls::int), 0) from '${at('../parquet')}/calls.parquet' c join paths p on p.path = c.path where ${where}`);
  expect(await calls(`p.name = 'MPI_Bcast@,".c:9'`)).toBe(40);
  // Two places of one line, distinguished by offset, and by callers in the recursion.
  expect(named.filter((n) => /^MPI_Barrier@open\.cc:\d+\(\+0x/.test(n)).length).toBe(2);
  expect(named.filter((n) => /^MPI_Allreduce@[^<]*</.test(n))).toHaveLength(4);
  expect(await calls(`p.mpi = 'MPI_Allreduce'`)).toBe(2 * 20 * 4);
});

test('frames lead to modules, functions and what is inlined', async () => {
  // Of each frame that a path has there is a row, and of what it names too.
  const lost = await rows(`select * from (select path, unnest(frames) as frame from paths) p left join frames f on f.frame = p.frame
    left join modules m on m.number = f.module left join functions g on g.number = f.function
    where f.frame is null or f.module is not null and m.name is null or f.function is not null and g.name is null`);
  expect(lost).toEqual([]);
  const chain = await rows(`with innermost as (select mpi, frames[1] as frame from paths where len(frames) > 0),
    scopes as (select distinct mpi, f.line, g.name as outer_function, unnest(list_transform(f.inlined, lambda x: x.function)) as inlined, f.inlined as chain
      from innermost i join frames f on f.frame = i.frame join functions g on g.number = f.function)
    select line, chain, outer_function, list(h.name order by inlined <> chain[1].function) from scopes s join functions h on h.number = s.inlined where mpi = 'MPI_Send' group by all`);
  expect(chain).toHaveLength(2); // send is inlined into exchange twice
  for (const [, , outer, inlined] of chain) expect([outer, inlined]).toEqual(['main', ['grid::Halo<double, 64>::exchange', 'grid::Halo<double, 64>::send']]);
  // Of the stripped library no function is known but the one that it exports.
  const closed = await rows(`select distinct coalesce(g.name, '') from frames f join modules m on m.number = f.module left join functions g on g.number = f.function where m.name = 'libclosed.so' order by 1`);
  expect(closed).toEqual([[''], ['closed']]);
  // In the recursion a function is on its own call path, to its depth.
  const depth = await rows(`select max(n) from (select path, count(*) as n from (select path, unnest(frames) as frame from paths) p join frames f on f.frame = p.frame
    join functions g on g.number = f.function where g.name = 'divide' group by path)`);
  expect(Number(depth[0]?.[0])).toBe(4);
});

test('the exported trace labels calls with the same numbers and names', async () => {
  const labels = readFileSync(at('../again.pcf'), 'utf8').split('90000103    Call path\nVALUES\n')[1]?.split('\n\n')[0]?.split('\n') ?? [];
  const oneLine = (name: string) => name.replaceAll('\n', '\\n');
  const named = await rows('select path, name from paths where path > 0 order by path');
  expect(labels.slice(1).map((l) => l.replace(/^(\d+) +/, '$1 '))).toEqual(named.map(([path, name]) => `${path as number} ${oneLine(name as string)}`));
  const used = new Set(readFileSync(at('../again.prv'), 'utf8').match(/(?<=:90000103:)\d+/g));
  const called = await rows(`select distinct path from '${at('../parquet')}/calls.parquet'`);
  expect([...used].map(Number).sort((a, b) => a - b)).toEqual(called.map(([n]) => Number(n)).sort((a, b) => a - b));
  expect(readdirSync(at('../csv'))).toContain('calls.csv');
});
