// Reads options from a YAML file: nested keys, or an option's flag name at the top.

import { readFile } from "node:fs/promises";
import { isMap, isScalar, isSeq, type Node, parseDocument } from "yaml";
import { CATALOGUE_ENTRIES } from "./catalogue.ts";
import { ConfigurationError } from "./configuration-error.ts";
import type { RawValue } from "./option.ts";
import { suggest } from "./suggest.ts";

/** Values by option path. Throws ConfigurationError for a file that cannot be read, is no YAML, or has unknown keys. */
export async function readConfigFile(path: string): Promise<ReadonlyMap<string, RawValue>> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    throw new ConfigurationError(
      `cannot read the configuration file ${path} (${code}): name a readable file in --config or POSTERN_CONFIG`,
      { cause: error },
    );
  }
  return parseConfigFile(path, text);
}

/** The same for a text that is already read; `path` is for messages. */
export function parseConfigFile(path: string, text: string): ReadonlyMap<string, RawValue> {
  const document = parseDocument(text, { prettyErrors: true, uniqueKeys: true });
  const [fault] = document.errors;
  // The parser's messages span several lines, with a drawing of the place. One line is enough.
  if (fault !== undefined) {
    const line = fault.linePos?.[0].line;
    const what = fault.message.split("\n")[0]?.replace(/ at line \d+, column \d+:?$/, "") ?? "malformed";
    throw new ConfigurationError(`${path}${line === undefined ? "" : `:${line}`} is not valid YAML: ${what}`);
  }
  const values = new Map<string, RawValue>();
  if (document.contents === null) return values;
  collect({ path, values }, document.contents, []);
  return values;
}

type Reading = { readonly path: string; readonly values: Map<string, RawValue> };

const PATHS = new Set(CATALOGUE_ENTRIES.map(({ path }) => path));
const GROUPS = new Set(
  CATALOGUE_ENTRIES.flatMap(({ keys }) => keys.slice(0, -1).map((_, end) => keys.slice(0, end + 1).join("."))),
);
const PATH_BY_FLAG = new Map(CATALOGUE_ENTRIES.map(({ option, path }) => [option.flag, path]));

function collect(reading: Reading, node: Node, parents: readonly string[]): void {
  if (!isMap(node)) {
    const where = parents.length === 0 ? "the file" : parents.join(".");
    throw new ConfigurationError(`${reading.path}: ${where} must be a mapping of option names to values`);
  }
  for (const { key, value } of node.items) {
    const name = String(isScalar(key) ? key.value : key);
    const fullName = [...parents, name].join(".");
    const path = PATHS.has(fullName) ? fullName : PATH_BY_FLAG.get(fullName);
    if (path !== undefined) {
      if (reading.values.has(path)) throw new ConfigurationError(`${reading.path}: ${path} is set twice: remove one`);
      reading.values.set(path, readValue(reading.path, fullName, value));
    } else if (GROUPS.has(fullName)) {
      const isEmpty = value === null || (isScalar(value) && value.value === null);
      // The pairs of a parsed document hold nodes or nothing.
      if (!isEmpty) collect(reading, value as Node, [...parents, name]);
    } else {
      throw new ConfigurationError(
        `${reading.path}: unknown option ${fullName}${suggest(fullName, [...PATHS, ...PATH_BY_FLAG.keys()])}: correct or remove it`,
      );
    }
  }
}

function readValue(path: string, name: string, node: unknown): RawValue {
  if (isScalar(node) && node.value !== null) return scalarText(node.value);
  if (isSeq(node) && node.items.every((item) => isScalar(item) && item.value !== null)) {
    return node.items.map((item) => (isScalar(item) ? scalarText(item.value) : ""));
  }
  throw new ConfigurationError(`${path}: ${name} must be a single value or a list: set it or remove the line`);
}

const scalarText = (value: unknown): string => (value instanceof Date ? value.toISOString() : String(value));
