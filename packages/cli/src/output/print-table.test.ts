import { expect, it } from "vitest";
import { printRows } from "./print-table.ts";

it("prints more rows than a function can have arguments", () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => [String(index)]);
  expect(printRows(["n"], rows)).toHaveLength("N\n".length + rows.join("\n").length + 1);
});
