// Cost of a presented key: the same hashes and comparisons, whatever is wrong with it. Counted, since a clock would tell nothing for sure.

import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type AccessKeyServer, createAccessKeyServer } from "../testing/access-key-server.ts";

/** Calls of the real functions of Node: the bytes hashed, those compared, and whether they were alike. */
const calls = { hashed: [] as number[], compared: [] as number[][], different: [] as number[] };

const { hash, timingSafeEqual } = crypto;
beforeAll(() => {
  Object.assign(crypto, {
    hash: (...call: Parameters<typeof hash>) => {
      calls.hashed.push(Buffer.byteLength(call[1]));
      return hash(...call);
    },
    timingSafeEqual: (a: Buffer, b: Buffer) => {
      calls.compared.push([a.length, b.length]);
      calls.different.push(Buffer.compare(a, b));
      return timingSafeEqual(a, b);
    },
  });
  syncBuiltinESMExports();
});
afterAll(() => {
  Object.assign(crypto, { hash, timingSafeEqual });
  syncBuiltinESMExports();
});

const master = { name: "root", groups: ["system:masters"] };

describe.each([
  ["generated keys alone", false],
  ["keys that clients brought as well", true],
])("with %s (security book 25)", (_, withOwnValues) => {
  let server: AccessKeyServer;
  let right: string;
  beforeEach(async () => {
    server = await createAccessKeyServer();
    const headers = { "content-type": "application/json" };
    const send = (url: string, body: object) => server.send({ method: "POST", url, body, user: master, headers });
    await send("users", { metadata: { name: "jane" }, spec: {} });
    right = (await send("ownedaccesskeys", { metadata: { name: "k" }, spec: { user: "jane" } })).body.spec.key;
    if (withOwnValues) {
      const spec = { user: "jane", key: "a-value-of-at-least-32-characters-of-mine" };
      await send("ownedaccesskeys", { metadata: { name: "own" }, spec });
    }
    return () => server[Symbol.asyncDispose]();
  });

  const costOf = (presented: string) => {
    for (const list of Object.values(calls)) list.length = 0;
    const isFound = server.keys.find(presented) !== undefined;
    return { isFound, hashed: [...calls.hashed], compared: [...calls.compared], different: [...calls.different] };
  };
  /** Of the same length, so that it hashes to as many blocks. */
  const changed = (at: number): string => `${right.slice(0, at)}${right[at] === "A" ? "B" : "A"}${right.slice(at + 1)}`;

  it("a wrong secret, an unknown key and noise cost the hashes that the right one does", () => {
    const { isFound, hashed } = costOf(right);
    expect([isFound, hashed.length]).toEqual([true, 2]);
    const middle = Math.floor(right.length / 2);
    const wrong = [changed(middle), changed(right.length - 1), server.secrets.generate(), "x".repeat(right.length)];
    for (const presented of wrong) expect(costOf(presented)).toMatchObject({ isFound: false, hashed });
    // A text as long as a key is hashed as long, also where it begins like none.
    expect(costOf("x".repeat(40)).hashed).toHaveLength(hashed.length);
  });

  it("digests are compared by timingSafeEqual alone, whole, and in both directions of the answer", () => {
    expect(costOf(right)).toMatchObject({ compared: [[32, 32]], different: [0] });
    // A checksum that does not fit makes it no key of ours: nothing is looked up, and one digest is compared with none.
    const other = server.secrets.generate();
    const cost = costOf(other);
    expect(cost.isFound).toBe(false);
    expect(cost.different).not.toContain(0);
    if (!withOwnValues) expect(cost.compared).toEqual([[32, 32]]);
  });
});
