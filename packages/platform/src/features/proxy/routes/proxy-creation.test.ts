import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PlatformCall, type RunningPlatform, startPlatform } from "../../../testing/running-platform.ts";

const CONFIG_MAPS = "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces/default/configmaps";
const APPLY = { "content-type": "application/apply-patch+yaml" };

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform[Symbol.asyncDispose]());

const keyFor = async (verbs: readonly string[]): Promise<string> => {
  const spec = { user: "admin", rules: [{ verbs }] };
  return (await platform.send({ method: "POST", path: "ownedaccesskeys", body: { metadata: {}, spec } })).body.spec.key;
};
const configMap = (name: string, value: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { value },
});
const applied = (name: string, value = "one"): PlatformCall => ({
  method: "PATCH",
  path: `${CONFIG_MAPS}/${name}?fieldManager=test`,
  body: configMap(name, value),
  headers: APPLY,
});

describe("an apply through the proxy that would create", () => {
  it("requires a key whose rules allow create as well as patch", async () => {
    const key = await keyFor(["patch"]);
    const refused = await platform.send({ ...applied("news"), key });
    expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining("rules of the access key")]);
    expect((await platform.send({ path: `${CONFIG_MAPS}/news` })).status).toBe(404);

    expect((await platform.send({ ...applied("news"), key: await keyFor(["create", "patch"]) })).status).toBe(201);
    expect(
      (await platform.send({ ...applied("news", "two"), key, path: `${applied("news").path}&force=true` })).status,
    ).toBe(200);
  });

  it("needs no more than the verb of a key without rules", async () => {
    expect((await platform.send(applied("plain"))).status).toBe(201);
  });
});
