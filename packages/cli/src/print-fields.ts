// Prints one thing as a name and a value a line.

import { cellText } from "./print-table.ts";

/** Empty values are left out; the others stand below each other. */
export function printFields(fields: readonly (readonly [name: string, value: string])[]): string {
  const shown = fields.filter(([, value]) => value !== "");
  const width = Math.max(0, ...shown.map(([name]) => name.length)) + 2;
  return shown.map(([name, value]) => `${`${name}:`.padEnd(width)}${cellText(value)}\n`).join("");
}
