// Prints a Table with the columns of the server, or one object with one field per line.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go (Table)

import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { objectOf } from "@postern/apimachinery/json/lenient-json";
import { listAt } from "./json-members.ts";
import { plainText } from "./plain-text.ts";

export const TABLE_MEDIA_TYPE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/** Aligned text with a heading. Columns of a priority above 0 are for wide output. */
export function printTable(
  table: JsonValue | undefined,
  { isWide = false }: { readonly isWide?: boolean } = {},
): string {
  const columns = listAt(table, "columnDefinitions");
  const shown = columns.flatMap((column, index) =>
    isJsonObject(column) && (isWide || (column["priority"] ?? 0) === 0)
      ? [{ index, name: String(column["name"]) }]
      : [],
  );
  const rows = listAt(table, "rows").map((row) => {
    const cells = listAt(row, "cells");
    return shown.map(({ index }) => cellText(cells[index]));
  });
  return printRows(
    shown.map(({ name }) => name),
    rows,
  );
}

/** Aligned text with a heading; "" without rows. */
export function printRows(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  const lines = [headings.map((name) => name.toUpperCase()), ...rows].map((line) => line.map(plainText));
  const widths = headings.map((_, column) =>
    lines.reduce((width, line) => Math.max(width, [...(line[column] ?? "")].length), 0),
  );
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, column) => pad(cell, widths[column] ?? 0))
          .join("   ")
          .trimEnd()}\n`,
    )
    .join("");
}

const pad = (text: string, width: number): string => text + " ".repeat(width - [...text].length);

/** Names and descriptions are foreign text: a terminal must not act on them. */
export const cellText = (cell: JsonValue | undefined): string =>
  plainText(cell === null || cell === undefined ? "<none>" : String(cell));

/** One object with one field per line, without empty values. */
export function printFields(fields: readonly (readonly [name: string, value: string])[]): string {
  const shown = fields.filter(([, value]) => value !== "");
  const width = Math.max(0, ...shown.map(([name]) => name.length)) + 2;
  return shown.map(([name, value]) => `${`${name}:`.padEnd(width)}${cellText(value)}\n`).join("");
}

/** The checks in the status of a test, one on each line. */
export function printChecks(checks: readonly JsonValue[]): string {
  const rows = checks.map(objectOf).map(({ type, status, field, message }) => [type, status, field, message]);
  return printRows(
    ["check", "holds", "field", "why"],
    rows.map((row) => row.map(cellText)),
  );
}
