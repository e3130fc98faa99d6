// Tables as CSV (RFC 4180): whole numbers and full precision, unlike what is shown.

type Cell = string | number | null;

export interface Table {
  readonly columns: readonly string[]; // names with units: "seconds", "mean_ns"
  readonly rows: readonly (readonly Cell[])[];
}

export function toCSV({ columns, rows }: Table): string {
  return [columns, ...rows].map((r) => r.map(cell).join(',') + '\r\n').join('');
}

function cell(v: Cell): string {
  if (v === null || (typeof v === 'number' && !Number.isFinite(v))) return '';
  if (typeof v === 'number') return String(v);
  // A spreadsheet takes text that begins so for a formula.
  const said = /^[=+\-@\t\r]/.test(v) ? `'${v}` : v;
  return /[",\r\n]/.test(said) ? `"${said.replaceAll('"', '""')}"` : said;
}
