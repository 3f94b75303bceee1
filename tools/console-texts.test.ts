// All texts of the console stand in its catalogue, so that it can be translated, and all that stands there is shown somewhere.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "oxc-parser";
import { expect, it } from "vitest";
import first from "../packages/console/src/texts/en.json" with { type: "json" };
import access from "../packages/console/src/texts/en-access.json" with { type: "json" };
import generators from "../packages/console/src/texts/en-generators.json" with { type: "json" };
import recordings from "../packages/console/src/texts/en-recordings.json" with { type: "json" };
import trust from "../packages/console/src/texts/en-trust.json" with { type: "json" };

/** The texts of the first page, and those that come with others. */
const en = { ...first, ...access, ...generators, ...recordings, ...trust };
const SOURCES = fileURLToPath(new URL("../packages/console/src", import.meta.url));
/** Of attributes and members that people see or hear. */
const SHOWN = new Set(["title", "label", "header", "placeholder", "aria-label", "description", "lead"]);
/** The name of the product, and examples of what is typed, which are the same in every language. */
const NOT_TRANSLATED = new Set([
  "Postern",
  "postern key create laptop --ttl 30d",
  "users/jane",
  "jane, john",
  "edit",
  "clientSecret",
  "config",
  "get",
  "get, list, watch",
  "projects",
  "/metrics",
  "env=dev",
]);

const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
  .filter((path) => /\.tsx?$/.test(path) && !path.endsWith(".test.ts"))
  .map((path) => ({ path, source: readFileSync(join(SOURCES, path), "utf8") }));

type Node = { readonly type: string; readonly [member: string]: unknown };
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value;

function visit(value: unknown, onNode: (node: Node) => void): void {
  if (Array.isArray(value)) for (const each of value) visit(each, onNode);
  if (!isNode(value)) return;
  onNode(value);
  for (const member of Object.values(value)) visit(member, onNode);
}

/** Texts that would be shown in English whatever the catalogue says. */
function literalsIn(path: string, source: string): readonly string[] {
  const found: string[] = [];
  visit(parseSync(path, source).program, ({ type, value, name, key }) => {
    if (type === "JSXText" && typeof value === "string") found.push(value.trim());
    const member = isNode(name) ? name["name"] : isNode(key) ? key["name"] : undefined;
    if (!["JSXAttribute", "Property"].includes(type) || typeof member !== "string" || !SHOWN.has(member)) return;
    if (isNode(value) && value.type === "Literal" && typeof value["value"] === "string") found.push(value["value"]);
  });
  return found.filter((text) => /\p{L}{2}/u.test(text) && !(text in en) && !NOT_TRANSLATED.has(text));
}

it("has every text that is shown", () => {
  expect(literalsIn("a.tsx", '<p title="Shown">{t("some.text")} Words</p>')).toEqual(["Shown", "Words"]);
  expect(files.flatMap(({ path, source }) => literalsIn(path, source).map((text) => `${path}: ${text}`))).toEqual([]);
});

it("has no text that is shown nowhere", () => {
  const sources = files.map(({ source }) => source).join("\n");
  // Names that are put together: t(`theme.${theme}`), named("key.state", id), and those of each kind of object with a view.
  const prefixes = [
    ...sources.matchAll(/`([\w.-]{1,60})\$\{/g),
    ...sources.matchAll(/named\("([\w.-]{1,60})"/g),
  ].flatMap(([, prefix = ""]) => (prefix === "" ? [] : [prefix]));
  const isUsed = (id: string): boolean => {
    const name = id.replace(/\.(?:one|other)$/, "");
    return (
      [`"${name}"`, `en.${name}`].some((use) => sources.includes(use)) ||
      prefixes.some((prefix) => id.startsWith(prefix)) ||
      /^\w+\.gone\.title$/.test(id)
    );
  };
  expect(Object.keys(en).filter((id) => !isUsed(id))).toEqual([]);
});
