import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSecretScanner } from "./secret-scanner.ts";
import type { Secret } from "./secret-shapes.ts";

const VALUE = "kN4vR8sT2wX6zB0dF3hJ7mQ1pU5yC9eG";
const made = (bytes: Uint8Array): Secret => ({ kind: "token", what: "made", credential: "", bytes, random: true });
const random = (text: string): Secret => made(Buffer.from(text));
const chosen = (text: string): Secret => ({ ...random(text), kind: "chosen value", what: "chosen", random: false });
const unicodeEscape = (character: string) => `\\u00${Buffer.from(character).toString("hex")}`;
const finds = (secret: Secret, text: string | Uint8Array): boolean =>
  createSecretScanner([random("aaaaaaaaaaaaaaaaaaaaaaaa"), secret])
    .scan(Buffer.from(text))
    .has(secret);

describe("the scanner", () => {
  it.each<[string, (text: string) => string]>([
    ["as it is", (text) => text],
    ["at the very beginning", (text) => text],
    ["in base64", (text) => Buffer.from(`{"${text}"}`).toString("base64")],
    ["in base64, one byte on", (text) => Buffer.from(`x{"${text}"}`).toString("base64")],
    ["in base64, two bytes on", (text) => Buffer.from(`xy{"${text}"}`).toString("base64")],
    ["in base64 for URLs", (text) => Buffer.from(`>>?${text}`).toString("base64url")],
    ["in hexadecimal", (text) => Buffer.from(text).toString("hex")],
    ["in upper-case hexadecimal", (text) => Buffer.from(text).toString("hex").toUpperCase()],
    ["in a URL", (text) => encodeURIComponent(text)],
    ["in JSON", (text) => JSON.stringify({ text })],
    ["in JSON of Go", (text) => JSON.stringify({ text }).replaceAll(/[<>&]/g, unicodeEscape)],
  ])("finds a secret %s", (_, encode) => {
    for (const text of [VALUE, 'with "quotes" & <tags> + spaces/ü']) {
      expect(finds(chosen(text), `before ${encode(text)} after`), text).toBe(true);
      expect(finds(chosen(text), encode(text)), text).toBe(true);
      expect(finds(random(text), `before ${encode(text)} after`), text).toBe(true);
      expect(finds(chosen(text), `before ${encode(`${text.slice(0, -1)}!`)} after`), text).toBe(false);
    }
  });

  it("finds any part of a random secret that is long enough, and only the whole of a chosen one", () => {
    for (let from = 0; from + 23 <= VALUE.length; from++) {
      expect(finds(random(VALUE), `…${VALUE.slice(from, from + 23)}…`), `from ${from}`).toBe(true);
    }
    expect(finds(chosen(VALUE), VALUE.slice(1))).toBe(false);
    expect(finds(random(VALUE), VALUE.slice(0, 11))).toBe(false);
  });

  it("finds bytes that are no text", () => {
    const bytes = Buffer.from([0, 0, 255, 0, 1, 2, 3, 200, 199, 198, 0, 0, 17, 18, 250, 9]);
    const secret = made(bytes);
    for (const shape of [bytes, bytes.toString("hex"), Buffer.concat([Buffer.from("x"), bytes]).toString("base64")]) {
      expect(finds(secret, shape)).toBe(true);
    }
    expect(finds(secret, bytes.subarray(2))).toBe(true);
  });

  it("looks for many secrets in much at once, across the borders of what it reads at a time", () => {
    const folder = mkdtempSync(join(tmpdir(), "postern-scan-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const secrets = Array.from({ length: 1000 }, () => random(randomBytes(36).toString("base64url")));
    const content = randomBytes(9 << 20);
    const planted = new Map([
      [(8 << 20) - 20, 7],
      [(8 << 20) + 50, 123],
      [0, 42],
      [content.length - 48, 999],
    ]);
    for (const [at, index] of planted) content.set(secrets[index]?.bytes ?? [], at);
    const path = join(folder, "content");
    writeFileSync(path, content);
    const scanner = createSecretScanner(secrets);
    const started = performance.now();
    const found = scanner.scanFile(path);
    const seconds = (performance.now() - started) / 1000;
    process.stdout.write(`${scanner.patterns} patterns in 9 MiB: ${seconds.toFixed(2)} s\n`);
    expect([...found].map((secret) => secrets.indexOf(secret)).sort((a, b) => a - b)).toEqual([7, 42, 123, 999]);
  });
});
