// Bodies and patches that cost their sender little, sent to the whole server. Each must be refused with a message that names the error, without
// delaying others, and leave nothing behind.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PlatformAnswer, type RunningPlatform, startPlatform } from "../testing/running-platform.ts";

const YAML = { "content-type": "application/yaml" };
const JSON_PATCH = { "content-type": "application/json-patch+json" };
/** Of processor time: what is not bounded takes minutes, or all of the memory. */
const AT_MOST_MS = 10_000;

describe("bodies that cost little to send", { timeout: 120_000 }, () => {
  let platform: RunningPlatform;
  beforeAll(async () => {
    platform = await startPlatform();
    await platform.send({ method: "POST", path: "ownedaccesskeys", body: { metadata: { name: "k" }, spec: {} } });
  });
  afterAll(() => platform[Symbol.asyncDispose]());

  const stored = async () =>
    (await platform.send({ path: "ownedaccesskeys" })).body.items.map(({ metadata, spec }: any) => [
      metadata.name,
      metadata.annotations,
      spec,
    ]);

  /** How the server answers, having checked that it is as before and answers others. */
  async function answerTo(call: Parameters<RunningPlatform["send"]>[0]): Promise<PlatformAnswer & { took: number }> {
    const before = await stored();
    const heap = process.memoryUsage().heapUsed;
    const started = process.cpuUsage();
    const [answer, other] = await Promise.all([platform.send(call), platform.send({ path: "/version" })]);
    const { user, system } = process.cpuUsage(started);
    const took = (user + system) / 1_000;
    expect(other.status).toBe(200);
    expect(took).toBeLessThan(AT_MOST_MS);
    // Whatever is built of a body stays in the order of its size.
    expect(process.memoryUsage().heapUsed - heap).toBeLessThan(400 * 1024 * 1024);
    expect(await stored()).toEqual(before);
    return { ...answer, took };
  }
  const create = (body: string, headers: { readonly [name: string]: string } = YAML) =>
    answerTo({ method: "POST", path: "ownedaccesskeys", headers, body });

  const laughs = [
    'a0: &a0 ["ha","ha","ha","ha","ha","ha","ha","ha","ha"]',
    ...Array.from({ length: 9 }, (_, at) => `a${at + 1}: &a${at + 1} [${Array(9).fill(`*a${at}`).join(",")}]`),
  ].join("\n");
  const longAlias = `a: &a "${"x".repeat(100_000)}"\nb: [${Array(10_000).fill("*a").join(",")}]`;

  it.each<[what: string, body: string, statuses: readonly number[], why: RegExp]>([
    ["aliases of aliases", laughs, [400], /excessive aliasing/],
    ["one long text many times", longAlias, [400], /excessive aliasing/],
    ["an alias of what it stands in", "a: &a [*a]", [400], /alias|anchor|contains itself/],
    ["merges of merges", laughs.replaceAll(/\[\*(a\d).*\]/g, "{<<: [*$1, *$1]}"), [400], /./],
    ["deep sequences", `a: ${"[".repeat(50_000)}`, [400], /depth|yaml/],
    ["deep mappings", Array.from({ length: 1_300 }, (_, at) => `${" ".repeat(at)}a:`).join("\n"), [400], /depth/],
    ["more text than YAML is read of", `a: "${"x".repeat(1_100_000)}"`, [400], /longer than 1048576/],
    ["more than a body may have", `a: "${"x".repeat(3_200_000)}"`, [413], /too large|limit/],
  ])("YAML with %s (security book 44)", async (_what, body, statuses, why) => {
    const answer = await create(body);
    expect(statuses).toContain(answer.status);
    expect(answer.body.message).toMatch(why);
    expect(answer.text.length).toBeLessThan(10_000);
  });

  const patch = (operations: readonly object[]) =>
    answerTo({ method: "PATCH", path: "ownedaccesskeys/k", headers: JSON_PATCH, body: JSON.stringify(operations) });
  const added = { op: "add", path: "/x", value: ["0123456789".repeat(100)] };
  const tests = (count: number) => Array.from({ length: count }, () => ({ op: "test", path: "/kind", value: "x" }));

  it.each<[what: string, operations: readonly object[], status: number, why: RegExp]>([
    ["more operations than there may be", tests(10_001), 413, /maximum operations in a JSON patch is 10000, got 10001/],
    ["as many as there may be, the first of which fails", tests(10_000), 422, /./],
    [
      "copies that double",
      [added, ...Array(40).fill({ op: "copy", from: "/x", path: "/x/-" })],
      422,
      /rejected our request/,
    ],
    [
      "copies of a large value",
      [
        { ...added, value: "x".repeat(500_000) },
        ...Array.from({ length: 9_000 }, (_, at) => ({ op: "copy", from: "/x", path: `/y${at}` })),
      ],
      422,
      /rejected our request/,
    ],
    [
      "copies into themselves",
      [{ op: "add", path: "/x", value: {} }, ...Array(9_999).fill({ op: "copy", from: "/x", path: "/x/x" })],
      422,
      /rejected our request/,
    ],
    [
      "an array that is moved at its head again and again",
      [
        { ...added, value: Array(5_000).fill(0) },
        ...Array(9_000).fill({ op: "move", from: "/x/0", path: "/x/-" }),
        ...tests(1),
      ],
      422,
      /./,
    ],
  ])("a JSON patch with %s (security book 45)", async (_what, operations, status, why) => {
    const answer = await patch(operations);
    expect(answer.status).toBe(status);
    expect(answer.body.message).toMatch(why);
  });

  const withMembers = (names: readonly string[]): string =>
    `{"metadata":{"name":"new","annotations":{${names.map((name) => `"${name}":"12345678"`).join(",")}}},"spec":{}}`;
  const COUNT = 25_000;
  const names = (name: (at: number) => string): readonly string[] => Array.from({ length: COUNT }, (_, at) => name(at));
  const JSON_BODY = { "content-type": "application/json" };

  it.each<[what: string, name: (at: number) => string]>([
    ["integers in a row", (at) => String(1_000_000 + at)],
    ["integers that are multiples of a power of two", (at) => String(at * 65_536)],
    ["integers far apart", (at) => String(1_000_000_007 + at * 16_777_216)],
    ["integers about the end of an array's indexes", (at) => String(4_294_967_295 - at)],
    ["negative integers", (at) => `-${at}`],
  ])("%s as names cost no more than others (security book 46)", async (_what, name) => {
    const plain = await create(withMembers(names((at) => `n${(at * 2_654_435_761) % 4_294_967_296}`)), JSON_BODY);
    const crafted = await create(withMembers(names(name)), JSON_BODY);
    expect([plain.status, crafted.status]).toEqual([422, 422]);
    // Where they collide it is hundreds of times as much.
    expect(crafted.took).toBeLessThan(20 * plain.took + 2_000);
  });

  it.each<[what: string, body: string, why: RegExp]>([
    ["arrays", `{"spec":${"[".repeat(1_000_000)}`, /depth|nest/],
    ["objects", `{"spec":${'{"a":'.repeat(400_000)}`, /depth|nest/],
    ["arrays that are closed again", `{"spec":${"[".repeat(1_001)}${"]".repeat(1_001)}}`, /depth|nest/],
  ])("deep %s in JSON (security book 46)", async (_what, body, why) => {
    const answer = await create(body, JSON_BODY);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toMatch(why);
  });

  it("one member many times is one member (security book 46)", async () => {
    const body = `{"metadata":{"name":"new"},"spec":{${Array(20_000).fill('"ttl":-1').join(",")}}}`;
    expect((await create(body, JSON_BODY)).status).toBe(422);
  });
});
