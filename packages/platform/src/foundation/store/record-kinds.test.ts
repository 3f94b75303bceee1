import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { RECORD_KINDS } from "./record-kinds.ts";

const packages = fileURLToPath(new URL("../../../..", import.meta.url));
const sources = readdirSync(packages)
  .flatMap((name) =>
    readdirSync(join(packages, name, "src"), { recursive: true }).map((file) => join(name, "src", String(file))),
  )
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !file.includes("/testing/"))
  .map((file) => ({ file, text: readFileSync(join(packages, file), "utf8") }));
const kinds = Object.keys(RECORD_KINDS);

it("has each kind of record, with an owner, a limit, and the outcome at the limit", () => {
  const used = new Set<string>();
  for (const { text } of sources) {
    for (const [, name = ""] of text.matchAll(/\b(?:recordPrefixOf\(\w+, |records\()"([^"]+)"\)/g)) used.add(name);
    // Single records, which are written through InternalRecords, and that of the key ring.
    for (const [, name = ""] of text.matchAll(/^const \w*RECORD = "([^"]+)";/gm)) used.add(name);
    for (const [, name = ""] of text.matchAll(/"\/registry\/[\w-]+\/internal\/([\w-]+)"/g)) used.add(name);
  }
  expect([...used].sort()).toEqual([...kinds].sort());
});

it("finds no other place that writes below the group of records", () => {
  // The first two make keys, the third goes through all of them, the last is the name of a record.
  const known = [
    "platform/src/foundation/encryption/internal-records.ts",
    "platform/src/foundation/store/record-kinds.ts",
    "platform/src/operations/reencryption/reencrypt-store.ts",
    "platform/src/foundation/encryption/key-ring-record.ts",
  ];
  const inStore = /(?:\/registry\/[^"`\n]*|compositionPrefix\([^)\n]*\)\}?|["`])internal\/|"internal"/;
  const found = sources.filter(
    ({ file, text }) => file.startsWith("platform/") && inStore.test(text.replaceAll(/^\s*(?:\/\/|\*).*$/gm, "")),
  );
  expect(found.map(({ file }) => file).sort()).toEqual([...known].sort());
});

it("opens internal records only under names that are constants", () => {
  const calls = /[rR]ecords(?:Of\([^)]*\))?\.(?:read|create|replace|update|has)\(\s*"/;
  const literal = sources.filter(({ file, text }) => !file.includes("/sign-in/") && calls.test(text));
  expect(literal.map(({ file }) => file)).toEqual([]);
});
