import { expect, it } from "vitest";
import { filledColumns, fitColumns, type SizedColumn } from "./table-layout.ts";

type Row = { readonly name: string; readonly team: string; readonly scope: string };

const COLUMNS: readonly SizedColumn<Row>[] = [
  { id: "name", header: "Name", sortBy: ({ name }) => name },
  { id: "state", header: "State", width: "120px" },
  { id: "team", header: "Team", from: "medium", sortBy: ({ team }) => team },
  { id: "scope", header: "Scope", from: "wide", text: ({ scope }) => scope },
];
const row = (length: number): Row => ({ name: "n".repeat(length), team: "tenant-38 team", scope: "s".repeat(40) });
const rows = Array.from({ length: 50 }, () => row(20));
const idsAt = (available: number, given = rows) => fitColumns(COLUMNS, given, available).map(({ id }) => id);
const sumAt = (available: number) => fitColumns(COLUMNS, rows, available).reduce((sum, { width }) => sum + width, 0);

it.each([220, 320, 600, 1_120, 1_600])("fills %i pixels, and no more", (available) => {
  expect(sumAt(available)).toBeCloseTo(available);
});

it("shows fewer columns where there is less room, the least important first", () => {
  expect(idsAt(1_200)).toEqual(["name", "state", "team", "scope"]);
  expect(idsAt(450)).toEqual(["name", "state", "team"]);
  expect(idsAt(300)).toEqual(["name", "state"]);
  expect(idsAt(100)).toEqual(["name", "state"]);
});

it("gives a column the width of its texts where there is room", () => {
  const [, state, team, scope] = fitColumns(COLUMNS, rows, 800);
  expect(state?.width).toBe(120);
  // 14 characters of 7 pixels, and 28 around them.
  expect(team?.width).toBeGreaterThanOrEqual(126);
  expect(scope?.width).toBeGreaterThan(team?.width ?? 0);
});

it("does not let one long text take the room of all others", () => {
  const withOne = [...rows, row(400)];
  const nameAt = (given: readonly Row[]) => fitColumns(COLUMNS, given, 900)[0]?.width;
  expect(nameAt(withOne)).toBe(nameAt(rows));
});

it("looks at some of ten thousand rows", () => {
  let looked = 0;
  const many = Array.from({ length: 10_000 }, () => row(5));
  const counting = [{ id: "name", header: "Name", text: () => `${looked++}` }];
  fitColumns(counting, many, 900);
  expect(looked).toBe(200);
});

it("leaves out columns that are empty in every row, where that is allowed", () => {
  const columns = [
    { id: "name", header: "Name", text: () => "" },
    { id: "email", header: "E-mail", text: ({ email }: { email: string }) => email, isOptional: true },
  ];
  const ids = (rows: readonly { email: string }[]) => filledColumns(columns, rows).map(({ id }) => id);
  expect(ids([{ email: "" }, { email: "" }])).toEqual(["name"]);
  expect(ids([{ email: "" }, { email: "ann@example.com" }])).toEqual(["name", "email"]);
  // Before there are rows, nothing is known.
  expect(ids([])).toEqual(["name", "email"]);
});
