// Writes packs, as trace/page does (docs/format/page.md).
import { gzipSync } from 'node:zlib';

type Numbers = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float32Array | Float64Array;

const typeOf = new Map<unknown, string>([
  [Uint8Array, 'u8'],
  [Uint16Array, 'u16'],
  [Uint32Array, 'u32'],
  [Int32Array, 'i32'],
  [Float32Array, 'f32'],
  [Float64Array, 'f64'],
]);

export function packBytes(json: Record<string, unknown>, columns: Record<string, Numbers>): Buffer {
  const table: Record<string, unknown> = {};
  const blobs: Buffer[] = [];
  let offset = 0;
  for (const [name, c] of Object.entries(columns)) {
    table[name] = { type: typeOf.get(c.constructor), offset, length: c.length };
    const blob = padded(Buffer.from(c.buffer, c.byteOffset, c.byteLength));
    blobs.push(blob);
    offset += blob.length;
  }
  const text = Buffer.from(JSON.stringify({ ...json, columns: table }));
  const header = Buffer.alloc(24);
  header.write('MORIENSPAGE1\n', 'latin1');
  header.writeUInt32LE(text.length, 16);
  return Buffer.concat([header, padded(text), ...blobs]);
}

function padded(b: Buffer): Buffer {
  return Buffer.concat([b, Buffer.alloc((8 - (b.length % 8)) % 8)]);
}

export function embed(pack: Uint8Array): string {
  return gzipSync(pack, { level: 1 }).toString('base64');
}
