// What views have drawn, for tests to read: only where the address says probe=1.

declare global {
  interface Window {
    __moriens?: { drawn: Record<string, unknown> };
  }
}

const wanted = /[?#&]probe=1(&|$)/.test(location.href);

// probe takes what a view has drawn. It is worked out when it is read, so that asking for it makes no picture slower.
export function probe(view: string, drawn: () => unknown) {
  if (wanted) Object.defineProperty((window.__moriens ??= { drawn: {} }).drawn, view, { get: drawn, configurable: true, enumerable: true });
}
