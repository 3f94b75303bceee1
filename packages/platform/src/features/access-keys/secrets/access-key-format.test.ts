import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { describe, expect, it } from "vitest";
import { createFixedKeyRing } from "../../../foundation/encryption/key-ring.ts";
import { accessKeyPrefix, createAccessKeyFormat } from "./access-key-format.ts";
import { createAccessKeySecrets } from "./access-key-secrets.ts";

const { random } = systemRuntime;

describe("accessKeyPrefix", () => {
  it.each([
    ["postern", "pst"],
    ["loft", "lft"],
    ["aeon", "aeo"],
    ["my-corp", "myc"],
    ["x", "x"],
  ])("of %s is %s", (name, prefix) => expect(accessKeyPrefix(name)).toBe(prefix));
});

describe("createAccessKeyFormat", () => {
  const format = createAccessKeyFormat("postern");

  it("generates unique keys and parses their IDs (security book 24)", () => {
    const keys = Array.from({ length: 20_000 }, () => format.generate(random));
    expect(new Set(keys.map(({ value }) => value.slice(15, 58))).size).toBe(keys.length);
    // Of 2^50 handles, two that are alike come once in a million runs of this.
    expect(new Set(keys.map(({ id }) => id)).size).toBe(keys.length);
    for (const { id, value } of keys) expect(format.idOf(value)).toBe(id);
  });

  it("generates every character with the same probability in every position (security book 24)", () => {
    const keys = Array.from({ length: 31_000 }, () => format.generate(random));
    const spreadAt = (texts: readonly string[], at: number, letters: number): number => {
      const counts = new Map<string, number>();
      for (const text of texts) counts.set(text.charAt(at), (counts.get(text.charAt(at)) ?? 0) + 1);
      const expected = texts.length / letters;
      const seen = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
      return seen + (letters - counts.size) * expected;
    };
    const ids = keys.map(({ id }) => id);
    const secrets = keys.map(({ value }) => value.slice(15, 58));
    // Chi-squared with 31 and 61 degrees of freedom: beyond these once in 10^9 positions.
    for (let at = 0; at < 10; at++) expect(spreadAt(ids, at, 32)).toBeLessThan(107);
    for (let at = 0; at < 43; at++) expect(spreadAt(secrets, at, 62)).toBeLessThan(155);
  });

  it("takes chance from the system's generator, here and everywhere (security book 24)", () => {
    const root = fileURLToPath(new URL("../../../../../", import.meta.url));
    const sources = readdirSync(root).flatMap((name) =>
      existsSync(`${root}${name}/src`)
        ? readdirSync(`${root}${name}/src`, { recursive: true, encoding: "utf8" })
            .filter((path) => /\.tsx?$/.test(path) && !/\.test\.ts$|(^|\/)testing\//.test(path))
            .map((path) => `${name}/src/${path}`)
        : [],
    );
    expect(sources.length).toBeGreaterThan(500);
    const weak = sources.filter((path) =>
      /\bMath\s*(\?\.|\.|\[)\s*["'`]?random\b/.test(readFileSync(root + path, "utf8")),
    );
    expect(weak).toEqual([]);
  });

  it("refuses a value in which any character is another", () => {
    const { value } = format.generate(random);
    for (let at = 0; at < value.length; at++) {
      const other = value[at] === "a" ? "b" : "a";
      expect(format.idOf(value.slice(0, at) + other + value.slice(at + 1))).toBe(undefined);
    }
    for (const wrong of ["", "pst_", value.slice(1), `${value}\n`, ` ${value}`, value.toUpperCase()]) {
      expect(format.idOf(wrong)).toBe(undefined);
    }
  });

  it("finds a key within a text", () => {
    const { value } = format.generate(random);
    expect(format.find(`see ${value}.`)).toBe(true);
    expect(format.find(`see ${value.slice(0, -1)}!`)).toBe(false);
  });

  it("is worked out from its bytes alone", () => {
    const zeros = { bytes: (length: number) => new Uint8Array(length) };
    const { id, value } = format.generate(zeros);
    expect(id).toBe("aaaaaaaaaa");
    expect(value.slice(0, -6)).toBe(`pst_aaaaaaaaaa_${"0".repeat(43)}`);
  });
});

describe("sealed values", () => {
  const options = { platformName: "postern", random };
  const secrets = createAccessKeySecrets({ ...options, keyRing: createFixedKeyRing(Buffer.alloc(32, 1)) });
  const envelope = secrets.seal("hello", "spec.a");

  it("decrypt only for their purpose, with their key and undamaged, and never repeat", () => {
    expect(secrets.open(envelope, "spec.a")).toBe("hello");
    expect(secrets.open(envelope, "spec.b")).toBe(undefined);
    expect(secrets.open(`${envelope.slice(0, -2)}AA`, "spec.a")).toBe(undefined);
    const others = createAccessKeySecrets({ ...options, keyRing: createFixedKeyRing(Buffer.alloc(32, 2)) });
    expect(others.open(envelope, "spec.a")).toBe(undefined);
    expect(secrets.seal("hello", "spec.a")).not.toBe(envelope);
    for (const broken of ["", "v1", "v1...", `v2${envelope.slice(2)}`]) {
      expect(secrets.open(broken, "spec.a")).toBe(undefined);
    }
  });

  it("gives a value whose handle is taken another one", () => {
    const value = secrets.generate();
    expect(secrets.keep(value, () => false)).toMatchObject({ id: value.slice(4, 14), structured: true });
    const kept = secrets.keep(value, () => true);
    expect(kept.structured).toBe(false);
    expect(kept.id).not.toBe(value.slice(4, 14));
  });
});
