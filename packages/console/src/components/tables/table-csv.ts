// The rows of a table as a CSV file (RFC 4180).

import { type SizedColumn, textOf } from "./table-layout.ts";

/** Spreadsheets would run cells that begin like this. */
const FORMULA = /^[=+\-@\t\r]/;

export function csvOf<T>(columns: readonly SizedColumn<T>[], rows: readonly T[]): string {
  const lines = [
    columns.map(({ header }) => quoted(header)),
    ...rows.map((row) => columns.map((column) => quoted(textOf(column, row)))),
  ];
  return lines.map((cells) => `${cells.join(",")}\r\n`).join("");
}

function quoted(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
