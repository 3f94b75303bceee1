// Consequences of the use of a rotated key are written, however often the store fails before.

import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { type AccessKeyServer, createAccessKeyServer } from "../testing/access-key-server.ts";

describe("a store that fails to write what follows from the use of a rotated key", () => {
  let storage: ReturnType<typeof createMemoryStorage>;
  let isDown: boolean;
  let server: AccessKeyServer;
  let values: readonly [first: string, second: string];

  beforeEach(async () => {
    storage = createMemoryStorage();
    isDown = false;
    const update = storage.update.bind(storage);
    storage.update = (...call) => (isDown ? Promise.reject(new Error("the disk is full")) : update(...call));
    server = await createAccessKeyServer({ storage });
    await send("POST", "users", { metadata: { name: "jane" }, spec: {} });
    const first = (await send("POST", "ownedaccesskeys", { metadata: { name: "k" }, spec: { user: "jane" } })).body.spec
      .key;
    const rotated = await send("POST", "ownedaccesskeys/k/rotate", { spec: { nonce: "a", gracePeriodSeconds: 600 } });
    values = [first, rotated.body.status.key];
    isDown = true;
    return async () => {
      isDown = false;
      await server[Symbol.asyncDispose]();
      await storage[Symbol.asyncDispose]();
    };
  });

  const send = (method: string, url: string, body: unknown) =>
    server.send({
      method,
      url,
      body,
      user: { name: "root", groups: ["system:masters"] },
      headers: { "content-type": "application/json" },
    });
  const works = (key: string, at: AccessKeyServer): Promise<boolean> =>
    at.login(key).then(
      () => true,
      () => false,
    );
  /** Whether the values work at a server that knows nothing but what is written. */
  const workElsewhere = async (): Promise<readonly boolean[]> => {
    await using other = await createAccessKeyServer({ storage });
    return [await works(values[1], other), await works(values[0], other)];
  };
  const useTheNew = () => server.login(values[1]);
  const useTheOldAfterTheNew = async () => {
    await useTheNew();
    expect(await works(values[0], server)).toBe(false);
  };
  const failed = (times: number) => vi.waitFor(() => expect(server.failures).toHaveLength(times));

  it("the first use of the new value is tried again until it is written (security book 16)", async () => {
    const usedAt = server.time.clock.now();
    await useTheNew();
    await failed(1);
    for (const [retry, delay] of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000].entries()) {
      server.time.advance(delay - 1);
      expect(server.failures).toHaveLength(retry + 1);
      server.time.advance(1);
      await failed(retry + 2);
    }
    isDown = false;
    server.time.advance(60_000);
    await vi.waitFor(async () => expect(await server.dump()).toContain(`"until":${usedAt}`));
    expect(await workElsewhere()).toEqual([true, false]);
    expect(server.time.waiting).toBe(0);
  });

  it("so is the lock that the use of an old value brings (security book 16)", async () => {
    await useTheOldAfterTheNew();
    await failed(2);
    expect(await works(values[1], server)).toBe(false);
    isDown = false;
    server.time.advance(1_000);
    await vi.waitFor(async () => expect(await server.dump()).toContain('"lockedAt"'));
    expect(await workElsewhere()).toEqual([false, false]);
  });

  it("is written when the server stops, if not before", async () => {
    await useTheOldAfterTheNew();
    await failed(2);
    isDown = false;
    await server[Symbol.asyncDispose]();
    expect(await workElsewhere()).toEqual([false, false]);
    expect(server.time.waiting).toBe(0);
  });

  it("is not tried again for a key that is gone", async () => {
    await useTheNew();
    await failed(1);
    expect((await send("DELETE", "ownedaccesskeys/k", undefined)).status).toBe(200);
    server.time.advance(120_000);
    await vi.waitFor(() => expect(server.time.waiting).toBe(0));
    expect(server.failures).toHaveLength(1);
  });
});
