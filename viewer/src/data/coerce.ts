// Readers turn what JSON.parse gave into values of a known shape. A field that is missing or of another type becomes
// a default: pages of older, newer and hostile directories show what they have, and no view has to ask twice.

type Reader<T> = (value: unknown) => T;
export type Of<R> = R extends Reader<infer T> ? T : never;

// null stands for a number that is not defined.
export const number: Reader<number> = (v) => (typeof v === 'number' ? v : NaN);

export const count: Reader<number> = (v) => (typeof v === 'number' && Number.isFinite(v) ? v : 0);

export const text: Reader<string> = (v) => (typeof v === 'string' ? v : '');

export const flag: Reader<boolean> = (v) => v === true;

export function list<T>(of: Reader<T>): Reader<T[]> {
  return (v) => (Array.isArray(v) ? v.map(of) : []);
}

// A Map, because a name from outside can be "__proto__".
export function named<T>(of: Reader<T>): Reader<Map<string, T>> {
  return (v) => {
    const m = new Map<string, T>();
    if (isObject(v)) for (const [name, value] of Object.entries(v)) m.set(name, of(value));
    return m;
  };
}

export function object<F extends Record<string, Reader<unknown>>>(fields: F): Reader<{ [K in keyof F]: Of<F[K]> }> {
  return (v) => {
    const from = isObject(v) ? v : {};
    const to: Record<string, unknown> = {};
    for (const [name, of] of Object.entries(fields)) to[name] = of(Object.hasOwn(from, name) ? from[name] : undefined);
    return to as { [K in keyof F]: Of<F[K]> };
  };
}

export function optional<T>(of: Reader<T>): Reader<T | null> {
  return (v) => (v === undefined || v === null ? null : of(v));
}

export function pair(of: Reader<number>): Reader<[number, number]> {
  return (v) => (Array.isArray(v) ? [of(v[0]), of(v[1])] : [0, 0]);
}

export function isObject(v: unknown): v is Record<string, unknown> {
  return typeof v === 'object' && v !== null && !Array.isArray(v);
}
