import { expect, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { decodeYaml } from "./decode-yaml.ts";
import { splitYaml } from "./split-yaml.ts";

const valuesOf = (text: string) => splitYaml(text).map((document) => decodeYaml(document.text).value);

test.each([
  ["a: 1", [{ a: 1 }]],
  ["---\na: 1\n---\nb: 2\n", [{ a: 1 }, { b: 2 }]],
  ["a: 1\n--- # the second\nb: 2\n---\n# nothing\n---\n", [{ a: 1 }, { b: 2 }]],
  ["--- {a: 1}\n--- {b: 2}", [{ a: 1 }, { b: 2 }]],
  ["a: 1\n...\n---\nb: 2\n...\n", [{ a: 1 }, { b: 2 }]],
  ["a: |\n  ---\n  b\n---\nc: ----\n", [{ a: "---\nb\n" }, { c: "----" }]],
  ["a: 1\r\n---\r\nb: 2\r\n", [{ a: 1 }, { b: 2 }]],
  ["# nothing\n\n---\n", []],
  ["", []],
  ['{"a": 1}', [{ a: 1 }]],
])("takes %j apart as the yaml library does", (text, expected) => {
  expect(valuesOf(text)).toEqual(expected);
  const theirs = parseAllDocuments(text, { version: "1.1" });
  expect(valuesOf(text)).toEqual([...theirs].map((document) => document.toJS()).filter((value) => value !== null));
});

test("finds again what was written one after the other", () => {
  const values = [{ text: "a\n---\nb\n...\n" }, { list: ["---", "..."] }, { deep: { "---": "# no comment" } }];
  expect(valuesOf(values.map((value) => stringify(value)).join("---\n"))).toEqual(values);
});

test("keeps the line numbers of the file for errors", () => {
  const [first, second] = splitYaml("a: 1\n---\n# about b\nb: [");
  expect([first?.line, second?.line]).toEqual([1, 4]);
  expect(() => decodeYaml(second?.text ?? "")).toThrow(/line [45]/);
});
