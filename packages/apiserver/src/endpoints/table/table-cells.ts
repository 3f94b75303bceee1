// Turns printer columns into the column definitions and cells of a Table.
// Source: k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor/tableconvertor.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { stringifyJson, withSortedMembers } from "@postern/apimachinery/json/stringify-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { humanDuration } from "@postern/apimachinery/time/human-duration";
import { parseTimestamp } from "@postern/apimachinery/time/timestamp";
import { formatGoFloat } from "@postern/apimachinery/validation/go-syntax";
import type { PrinterColumn, ResourceDefinition } from "../../registry/resource-definition.ts";
import { compileJsonPath, firstOf, JsonPathBudget, JsonPathBudgetError, textCost } from "./json-path.ts";

/** The part of a resource that a Table, and the refusal of other forms, need. */
export type ResourceColumns = Pick<ResourceDefinition, "columns" | "hasOwnNameColumn" | "strategicMergePatch">;

export type TableColumnDefinition = {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
};

export type TableColumns = {
  readonly definitions: readonly TableColumnDefinition[];
  /** One per definition; `now` in milliseconds since the epoch. Cells that the budget does not suffice for are null, and reported once. */
  cells(object: KubeObject, now: number, budget: JsonPathBudget, onOverBudget?: () => void): readonly JsonValue[];
};

const NAME_COLUMN: TableColumnDefinition = {
  name: "Name",
  type: "string",
  format: "name",
  // Part of what clients see, so worded as kube-apiserver words it.
  description:
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to " +
    "request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and " +
    "configuration definition. Cannot be updated. More info: " +
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
  priority: 0,
};

/** The age of an object whose kind says nothing else about it. */
export const AGE_COLUMN: PrinterColumn = {
  name: "Age",
  type: "date",
  description:
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set " +
    "in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and " +
    "is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: " +
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
  value: ".metadata.creationTimestamp",
};

type Cell = (object: KubeObject, now: number, budget: JsonPathBudget) => JsonValue;

/** Work for the cells of one object, in visited values: a column that filters a list of 10,000 items takes 30,000. */
export const WORK_PER_OBJECT = 50_000;
/** Work for the cells of one response: so much in any case, and so much for each of its rows. */
const WORK_PER_RESPONSE = 10_000_000;
const WORK_PER_ROW = 500;

/** Shares out the work that the rows of one response may take. */
export class TableBudget {
  #left = WORK_PER_RESPONSE;
  #spent = 0;

  /** All work so far. */
  get spent(): number {
    return this.#spent;
  }

  /** Gives `use` the budget of the next row. */
  row<T>(use: (budget: JsonPathBudget) => T): T {
    const budget = new JsonPathBudget(this.nextRow());
    try {
      return use(budget);
    } finally {
      this.spend(budget.spent);
    }
  }

  /** How much work the next row may take. */
  nextRow(): number {
    this.#left += WORK_PER_ROW;
    return Math.max(0, Math.min(WORK_PER_OBJECT, this.#left));
  }

  /** Charges the work of a row. */
  spend(work: number): void {
    this.#left -= work;
    this.#spent += work;
  }
}

/** The name first, then the resource's own columns, or the age when it has none. */
export function tableColumns({ columns = [AGE_COLUMN], hasOwnNameColumn = false }: ResourceColumns): TableColumns {
  const own = columns.map(cellOf);
  return {
    definitions: [...(hasOwnNameColumn ? [] : [NAME_COLUMN]), ...columns.map(definitionOf)],
    cells(object, now, budget, onOverBudget) {
      let isOver = false;
      const cells: JsonValue[] = hasOwnNameColumn ? [] : [object.metadata.name ?? ""];
      for (const cell of own) {
        try {
          cells.push(cell(object, now, budget));
        } catch (error) {
          if (!(error instanceof JsonPathBudgetError)) throw error;
          isOver = true;
          cells.push(null);
        }
      }
      if (isOver) onOverBudget?.();
      return cells;
    },
  };
}

const definitionOf = ({ name, type, format = "", description, priority = 0, value, shown }: PrinterColumn) => ({
  name,
  type,
  format,
  description:
    description ??
    (typeof value === "string" ? `Custom resource definition column (in JSONPath format): ${value}` : ""),
  priority,
  ...shown,
});

function cellOf({ type, value }: PrinterColumn): Cell {
  if (typeof value === "function") {
    return (object, now) => {
      const cell = value(object, now);
      // A cell that the function has formatted itself stays unchanged.
      return type === "date" && typeof cell === "string" ? (ageOf(cell, now) ?? cell) : cell;
    };
  }
  const path = compileJsonPath(value);
  if (path === undefined) return () => null;
  return (object, now, budget) => {
    const found = firstOf(path(object, budget));
    if (found === undefined) return null;
    // Texts of lists and objects are as long as these, and each of many columns may print the same.
    if (type === "string" && typeof found === "object") budget.spend(1);
    const cell = formatCell(type, found, now);
    if (typeof cell === "string") budget.spend(textCost(cell.length));
    return cell;
  };
}

/** Values of another type than the column's are left out, as kubectl would refuse to print them. */
function formatCell(type: PrinterColumn["type"], value: JsonValue, now: number): JsonValue {
  switch (type) {
    case "string":
      return printedText(value);
    case "integer":
      if (typeof value === "bigint") return value;
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" || typeof value === "bigint" ? Number(value) : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      if (value === "" || value === "null") return "<unknown>";
      return typeof value === "string" ? (ageOf(value, now) ?? "<invalid>") : null;
  }
}

/** Content of a text column: words as they are, lists and objects as Go writes JSON, and null as the template printer names it. */
function printedText(value: JsonValue): string {
  if (value === null) return "<no value>";
  if (typeof value === "string") return value;
  if (typeof value === "number" && !Number.isSafeInteger(value)) return formatGoFloat(value);
  if (typeof value !== "object") return String(value);
  return stringifyJson(withSortedMembers(value)).replaceAll(/[<>&\u2028\u2029]/g, escapedForHtml);
}

/** Go's JSON is safe inside of HTML. */
const escapedForHtml = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Undefined for text that is no timestamp. */
function ageOf(timestamp: string, now: number): string | undefined {
  const time = parseTimestamp(timestamp);
  return time === undefined ? undefined : humanDuration(now - time);
}
