import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../../../testing/running-platform.ts";

/** Header that kubectl 1.32 sends. */
const AGGREGATED = {
  accept:
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json",
};
const DEMO = "/kubernetes/project/default/virtualcluster/demo";
const LACKS_USE = /^virtualclusterinstances\.management\.postern "demo" is forbidden: User "eve" cannot use resource /;

let platform: RunningPlatform;
let key: string;

beforeAll(async () => {
  platform = await startPlatform();
  await platform.send({ method: "POST", path: "users", body: { metadata: { name: "eve" }, spec: {} } });
  const made = { method: "POST", path: "ownedaccesskeys", body: { metadata: {}, spec: { user: "eve" } } };
  key = (await platform.send(made)).body.spec.key;
});
afterAll(() => platform[Symbol.asyncDispose]());

describe("discovery behind the proxy that is refused", () => {
  it.each([`${DEMO}/api`, `${DEMO}/apis?timeout=32s`])(
    "at %s is a text for client-go, which shows no other",
    async (path) => {
      const { status, text, body } = await platform.send({ path, key, headers: AGGREGATED });
      expect([status, body]).toEqual([403, undefined]);
      expect(text).toMatch(LACKS_USE);
    },
  );

  it("is a Status for everybody else, as all other refusals are", async () => {
    for (const path of [`${DEMO}/api`, `${DEMO}/api/v1/namespaces`]) {
      const { status, body } = await platform.send({ path, key });
      expect([status, body.kind, body.reason]).toEqual([403, "Status", "Forbidden"]);
      expect(body.message).toMatch(LACKS_USE);
    }
  });

  it("is unchanged for callers with permission", async () => {
    const { status, body } = await platform.send({ path: `${DEMO}/api`, headers: AGGREGATED });
    expect([status, body.kind]).toEqual([200, "APIGroupDiscoveryList"]);
  });
});
