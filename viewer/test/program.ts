// A program written by hand, of which the main loop is the iterations of synthetic.ts with three clusters: there the
// call paths 1, 2 and 0 follow each other, and cluster c is computed before the c-th of them.

export type Written = Record<string, unknown>;

// Call paths of the program besides those of the iterations, from number 3 on.
export const MORE_PATHS = ['MPI_Init@main.c:5', 'MPI_Reduce@report.c:7<report', 'MPI_Recv@report.c:9<report', 'MPI_Irecv@solve.c:21<solve', 'MPI_Allreduce@solve.c:30<solve', 'MPI_Finalize@main.c:30'].map((name) => ({ name, function: name.replace(/@.*/, '') }));

const mpi = (fn: string, file: string, line: number, paths: number[], more: Written = {}): Written => ({ kind: 'mpi', function: fn, file, line, paths, count: 80, mpi_ns: 80 * 200_000, ...more });
const compute = (cluster: number, around: [number, number][], ns: number, more: Written = {}): Written => ({
  kind: 'compute', around, count: 80, compute_ns: ns, mean_ns: ns / 80, std_ns: ns / 8000, share: ns / 1e9,
  clusters: [{ cluster, bursts: 80, share: 1 }], counters: [{ name: 'PAPI_TOT_INS', mean: 1.5e6, n: 80 }], ...more,
});
const call = (fn: string, file: string, line: number, body: Written[], more: Written = {}): Written => ({ kind: 'call', function: fn, file, line, body, ...more });
const loop = (trips: Written, body: Written[], more: Written = {}): Written => ({ kind: 'loop', by: 'code', trips: { least: 1, most: 1, mean: 1, entries: 8, total: 8, kind: 'constant', expression: '1', ...trips }, body, ...more });
const when = (body: Written[], more: Written): Written => ({ kind: 'if', by: 'code', happened: 80, of: 800, body, ...more });

// written is the program, of so many ranks and iterations; by is the evidence of its loops and conditions.
export function written(ranks: number, iterations: number, more: Written = {}): Written {
  const odd = Array.from({ length: ranks }, (_, r) => r).filter((r) => r % 2 === 1);
  const body = [
    mpi('MPI_Init', '/src/app/main.c', 5, [3], { count: ranks, mpi_ns: ranks * 1e6 }),
    loop({ least: iterations, most: iterations, mean: iterations, entries: ranks, total: ranks * iterations, expression: `${iterations}` }, [
      call('step', '/src/app/main.c', 11, [
        compute(1, [[0, 1]], 4e8),
        mpi('MPI_Wait', '/src/app/halo.c', 51, [1]),
        compute(2, [[1, 2]], 2e8),
        mpi('MPI_Send', '/src/app/halo.c', 52, [2], { peers: [{ way: 'to', kind: 'ring', text: '(rank+1) mod size' }], bytes: { least: 2048, most: 2048, mean: 2048 }, late_ns: 3_000_000 }),
        call('solve', '/src/app/main.c', 14, [
          loop({ least: 3, most: 5, mean: 4, kind: 'cycle', expression: '(3,4,5 in turn)', cycle: [3, 4, 5], entries: 40, total: 160 }, [
            mpi('MPI_Irecv', '/src/app/solve.c', 21, [6], { peers: [{ way: 'from', kind: 'xor', text: 'rank^1' }], bytes: { least: 64, most: 4096, mean: 512 } }),
            mpi('MPI_Allreduce', '/src/app/solve.c', 30, [7], { communicator: 'rows' }),
          ], { function: 'solve', file: '/src/app/solve.c', line: 20, variable: 'j' }),
        ]),
        compute(3, [[2, 0]], 1e8),
        mpi('MPI_Send', '/src/app/halo.c', 50, [0]),
      ], { inlined: true }),
      when([
        call('report', '/src/app/main.c', 17, [
          when([mpi('MPI_Recv', '/src/app/report.c', 9, [5])], { ranks: [0], ranks_text: 'rank == 0' }),
          when([mpi('MPI_Reduce', '/src/app/report.c', 7, [4])], { ranks: null, else: true }),
        ]),
      ], { when: { kind: 'every', variable: 'i', period: 10, offset: 0 } }),
      when([call('extra', '/lib/other/main.c', 40, [mpi('MPI_Barrier', '', 0, [])])], { ranks: odd, ranks_text: 'rank % 2 == 1', by: 'order' }),
      when([mpi('MPI_Iprobe', '/src/app/main.c', 19, [])], { when: { kind: 'unknown' }, happened: 57, of: 400, by: 'sequence' }),
    ], { function: 'main', file: '/src/app/main.c', line: 10, variable: 'i', explains: 0.97 }),
    call('tree', '/src/app/main.c', 22, [{ kind: 'recursion', function: 'tree', file: '/src/app/main.c', line: 24 }], { recursive: true }),
    { kind: 'other', lines: 12, count: 34, compute_ns: 1e6, mpi_ns: 2e6 },
    mpi('MPI_Finalize', '/src/app/main.c', 30, [8], { count: ranks, mpi_ns: ranks * 2e6 }),
  ];
  let id = 0;
  const number = (nodes: Written[]): Written[] => nodes.map((n) => ({ id: ++id, ...n, ...(n['body'] ? { body: number(n['body'] as Written[]) } : {}) }));
  return { format: 1, ranks, certain: { calls: 0.9996, time: 0.998 }, basis: 'code', why: ['The machine code of libother.so is not known: its loops come from the order of lines.'], body: number(body), ...more };
}

// readings are other ways to find the loops: by the order of lines, which has one loop, and by the published method, with
// two loops and what it leaves out.
export function readings(ranks: number, iterations: number): Written {
  const body = (by: string) => [
    { ...loop({ least: iterations, most: iterations, mean: iterations, entries: ranks, total: ranks * iterations, expression: `${iterations}` }, [{ id: 2, ...mpi('MPI_Wait', '', 0, [1]) }], { by }), id: 1 },
  ];
  const certain = { calls: 0.8, time: 0.7 };
  return {
    order: { format: 1, ranks, certain, basis: 'order', body: body('order') },
    thesis: {
      program: { format: 1, ranks, certain, basis: 'sequence', body: body('sequence') },
      // path, ranks, repetitions, time between, delta, loop
      plot: { eps: 0.2, delta: 0.1, loops: 2, once: 3, points: [[0, 8, iterations, 5.2e6, 0.99, 1], [1, 8, iterations, 5.2e6, 0.98, 1], [6, 8, 4 * iterations, 1.3e6, 0.97, 0], [3, 8, 1, 0, 0, -1]] },
    },
  };
}
