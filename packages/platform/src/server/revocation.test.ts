import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../testing/running-platform.ts";

const INSIDE = "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces/default/configmaps";
const EVENTS = "/api/v1/namespaces/default/events";

describe("connections of a key are closed when the key is disabled (security book 3, 15)", () => {
  let platform: RunningPlatform;
  beforeAll(async () => {
    platform = await startPlatform();
  });
  afterAll(() => platform[Symbol.asyncDispose]());

  const event = (name: string) => ({
    metadata: { name },
    involvedObject: { kind: "Project", name: "default" },
    reason: "Test",
    type: "Normal",
  });

  it.each<[string, string, (name: string) => Promise<unknown>]>([
    ["an open watch", EVENTS, (name) => platform.send({ method: "POST", path: EVENTS, body: event(name) })],
    [
      "an open watch through the proxy",
      INSIDE,
      (name) => platform.send({ method: "POST", path: INSIDE, body: { metadata: { name } } }),
    ],
  ])("%s", async (what, path, write) => {
    const { body } = await platform.send({
      method: "POST",
      path: "ownedaccesskeys",
      body: { metadata: { generateName: "cut-" }, spec: {} },
    });
    const { name } = body.metadata;
    const tag = name.slice(-5);
    // A stream counts as open here once something has come.
    await write(`first-${tag}`);
    const stream = await platform.open({ path: `${path}?watch=1`, key: body.spec.key });
    expect(stream.status).toBe(200);
    await write(`before-${tag}`);
    while (!stream.text().includes(`before-${tag}`)) await new Promise((resolve) => setImmediate(resolve));

    // Something is always on its way while the key is disabled.
    let goesOn = true;
    const writer = (async () => {
      for (let at = 0; goesOn; at++) await write(`meanwhile-${tag}-${at}`);
    })();
    const { status } = await platform.send({
      method: "PATCH",
      path: `ownedaccesskeys/${name}`,
      body: { spec: { disabled: true } },
    });
    const answeredAt = performance.now();
    expect(status).toBe(200);
    await write(`after-${tag}`);
    await stream.ended;
    goesOn = false;
    await writer;
    expect(stream.text()).not.toContain(`after-${tag}`);
    expect((await platform.send({ path, key: body.spec.key })).status).toBe(401);
    const milliseconds = (stream.lastByteAt() - answeredAt).toFixed(2);
    process.stdout.write(`${what}: last byte ${milliseconds} ms after the answer to the disable\n`);
  });
});
