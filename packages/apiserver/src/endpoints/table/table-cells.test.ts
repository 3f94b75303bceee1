import { describe, expect, it } from "vitest";
import type { PrinterColumn } from "../../registry/resource-definition.ts";
import { JsonPathBudget } from "./json-path.ts";
import { TableBudget, tableColumns } from "./table-cells.ts";

const NOW = Date.parse("2026-01-02T15:04:05Z");
const object: any = {
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name: "w", creationTimestamp: "2025-12-31T12:04:05Z" },
  spec: {
    text: "a",
    int: 3,
    float: 3.9,
    big: 9007199254740993n,
    yes: true,
    list: [1, "b"],
    map: { a: 1 },
    time: "2026-01-02T15:00:00Z",
    future: "2027-01-02T15:00:00Z",
    nothing: null,
    never: "",
    million: 1000000.5,
    huge: 1e21,
    unsorted: { b: { d: "&", c: 1 }, a: "<b>" },
  },
};

const cell = (column: Omit<PrinterColumn, "name">) =>
  tableColumns({ columns: [{ name: "C", ...column }] }).cells(object, NOW, new JsonPathBudget(1000))[1];

describe("a cell", () => {
  it.each<[PrinterColumn["type"], string, unknown]>([
    ["string", ".spec.text", "a"],
    ["string", ".spec.int", "3"],
    ["string", ".spec.big", "9007199254740993"],
    ["string", ".spec.yes", "true"],
    ["string", ".spec.list", '[1,"b"]'],
    ["string", ".spec.map", '{"a":1}'],
    ["string", ".spec.nothing", "<no value>"],
    ["string", ".spec.unsorted", '{"a":"\\u003cb\\u003e","b":{"c":1,"d":"\\u0026"}}'],
    ["string", ".spec.float", "3.9"],
    ["string", ".spec.million", "1.0000005e+06"],
    ["string", ".spec.huge", "1e+21"],
    ["integer", ".spec.nothing", null],
    ["number", ".spec.big", 9007199254740992],
    ["date", ".spec.never", "<unknown>"],
    ["string", ".spec.absent", null],
    ["integer", ".spec.int", 3],
    ["integer", ".spec.float", 3],
    ["integer", ".spec.big", 9007199254740993n],
    ["integer", ".spec.text", null],
    ["number", ".spec.float", 3.9],
    ["number", ".spec.yes", null],
    ["boolean", ".spec.yes", true],
    ["boolean", ".spec.text", null],
    ["date", ".metadata.creationTimestamp", "2d3h"],
    ["date", ".spec.time", "4m5s"],
    ["date", ".spec.future", "<invalid>"],
    ["date", ".spec.text", "<invalid>"],
    ["date", ".spec.absent", null],
    ["string", ".spec[", null],
  ])("of type %s prints %s, or nothing where the value does not fit", (type, value, expected) =>
    expect(cell({ type, value })).toEqual(expected),
  );

  it("may be computed, and a computed time is printed as an age", () => {
    expect(cell({ type: "string", value: ({ metadata }, now) => `${metadata.name} ${now === NOW}` })).toBe("w true");
    expect(cell({ type: "date", value: () => "2026-01-02T15:03:00Z" })).toBe("65s");
    expect(cell({ type: "date", value: () => "never" })).toBe("never");
    expect(cell({ type: "date", value: () => null })).toBeNull();
  });
});

it("describes columns without a description by their path", () => {
  const [name, path, own] = tableColumns({
    columns: [
      { name: "A", type: "string", value: ".spec.a", priority: 1 },
      { name: "B", type: "string", value: () => "", description: "Mine." },
    ],
  }).definitions;
  expect(name).toMatchObject({ name: "Name", type: "string", format: "name", priority: 0 });
  expect(path).toMatchObject({
    priority: 1,
    format: "",
    description: "Custom resource definition column (in JSONPath format): .spec.a",
  });
  expect(own?.description).toBe("Mine.");
});

describe("the work on a row", () => {
  const deep = (depth: number): any => Array.from({ length: depth }).reduce((inner) => ({ b: inner }), 1);
  const hostile = { type: "string", value: `.spec.a[?(@${".".repeat(14)}x)]` } as const;
  const kube = (spec: any): any => ({ ...object, spec });

  it("leaves out cells that take too much, and says so once", () => {
    const { cells } = tableColumns({
      columns: [
        { name: "First", type: "string", value: ".spec.text" },
        ...Array.from({ length: 99 }, (_, i) => ({ name: `C${i}`, ...hostile })),
      ],
    });
    const budget = new TableBudget();
    let reports = 0;
    const row = budget.row((own) => cells(kube({ text: "a", a: [deep(24)] }), NOW, own, () => reports++));
    expect(row.slice(0, 3)).toEqual(["w", "a", null]);
    expect(reports).toBe(1);
    expect(budget.spent).toBeLessThan(51_000);
  });

  it("is limited for all rows of a response together", () => {
    const { cells } = tableColumns({ columns: [{ name: "C", ...hostile }] });
    const budget = new TableBudget();
    const value = kube({ a: [deep(24)] });
    for (let i = 0; i < 1000; i++) budget.row((own) => cells(value, NOW, own));
    expect(budget.spent).toBeLessThan(10_600_000);
  });

  it("counts the text of columns that print the same long value", () => {
    const { cells } = tableColumns({
      columns: Array.from({ length: 100 }, (_, i) => ({ name: `C${i}`, type: "string" as const, value: ".spec" })),
    });
    const row = new TableBudget().row((own) => cells(kube({ text: "x".repeat(1_000_000) }), NOW, own));
    const printed = row.reduce<number>((sum, cell) => sum + (typeof cell === "string" ? cell.length : 0), 0);
    expect(printed).toBeGreaterThan(1_000_000);
    expect(printed).toBeLessThan(6_000_000);
  });

  it("is enough for many rows with usual columns", () => {
    const conditions = Array.from({ length: 20 }, (_, i) => ({ type: `T${i}`, status: "True" }));
    const { cells } = tableColumns({
      columns: Array.from({ length: 10 }, (_, i) => ({
        name: `C${i}`,
        type: "string" as const,
        value: `.spec.conditions[?(@.type=="T19")].status`,
      })),
    });
    const budget = new TableBudget();
    for (let i = 0; i < 10_000; i++)
      expect(budget.row((own) => cells(kube({ conditions }), NOW, own))[10]).toBe("True");
  });
});
