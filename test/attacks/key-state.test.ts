// A key that is refused says so where people and tools look: in its condition, in the column of kubectl, and to `kubectl wait`.

import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { byNight } from "../../tools/test-cost/by-night.ts";
import { type OwnServer, startOwnServer } from "../e2e/testing/own-server.ts";
import { kubectlWith, succeed } from "../e2e/testing/postern-process.ts";
import { type Attack, prepareAttack } from "./testing/thief.ts";

let server: OwnServer;
let attack: Attack;
let kubectl: (...args: readonly string[]) => Promise<string>;

beforeAll(async () => {
  server = await startOwnServer(["--failed-logins-per-minute", "0"]);
  attack = await prepareAttack(server);
  const run = kubectlWith(server.adminKubeconfig, join(server.directory, "cache"));
  kubectl = (...args) => succeed(run(args));
});
afterAll(() => server?.[Symbol.asyncDispose]());

const users = "/apis/management.postern/v1/users";
const wait = (name: string, status: "true" | "false") =>
  kubectl("wait", `--for=condition=Ready=${status}`, `oak/${name}`, "--timeout=60s");

describe("a key that is refused", () => {
  it.each<[reason: string, refuse: (name: string, value: string) => Promise<unknown>]>([
    ["Disabled", (name) => attack.patch(name, { spec: { disabled: true } })],
    ["Leaked", (_name, value) => attack.report(value)],
    [
      "RetiredValueUsed",
      async (name, value) => {
        await attack.rotate(name);
        await attack.works(value);
      },
    ],
  ])("shows %s to kubectl get and kubectl wait, until it is valid again", async (reason, refuse) => {
    const name = attack.unique();
    const value = await attack.newKey(name);
    expect(await wait(name, "true")).toContain("condition met");
    expect(await kubectl("get", "oak", name)).toMatch(/ STATUS .*\n.* Ready /);
    await refuse(name, value);
    expect(await wait(name, "false")).toContain("condition met");
    const [condition] = (await attack.get(name)).status.conditions;
    expect(condition).toMatchObject({ type: "Ready", status: "False", reason, message: expect.any(String) });
    expect(await kubectl("get", "oak", name)).toMatch(new RegExp(` ${reason} `));
    if (reason !== "Disabled") await attack.rotate(name);
    if (reason !== "RetiredValueUsed") await attack.patch(name, { spec: { disabled: false } });
    expect(await wait(name, "true")).toContain("condition met");
  });

  byNight("shows that its owner is locked, and that its parent is compromised", async () => {
    const [user, name, parent, child] = [attack.unique(), attack.unique(), attack.unique(), attack.unique()];
    await attack.http(users, { key: attack.admin, body: { metadata: { name: user }, spec: {} } });
    await attack.newKey(name, { user });
    await attack.newKey(child, {}, await attack.newKey(parent));
    const headers = { "content-type": "application/merge-patch+json" };
    const body = JSON.stringify({ spec: { disabled: true } });
    await attack.http(`${users}/${user}`, { key: attack.admin, method: "PATCH", headers, body });
    await attack.rotate(parent, { compromised: true });
    await wait(name, "false");
    await wait(child, "false");
    expect((await attack.get(name)).status.conditions[0].reason).toBe("OwnerLocked");
    expect((await attack.get(child)).status.conditions[0].reason).toBe("Revoked");
  });

  it("is edited while it is used without a conflict, and with one where it was rotated meanwhile", async () => {
    const name = attack.unique();
    const key = await attack.newKey(name);
    const before = await attack.get(name);
    const edit = async (object: Awaited<ReturnType<typeof attack.get>>): Promise<number> => {
      const body = { ...object, spec: { ...object.spec, displayName: attack.unique() } };
      const path = `/apis/management.postern/v1/ownedaccesskeys/${name}`;
      return (await attack.http(path, { key: attack.admin, method: "PUT", body })).status;
    };
    await attack.http("/apis/management.postern/v1/selves", { key, body: {} });
    expect(await edit(before)).toBe(200);
    const read = await attack.get(name);
    await attack.rotate(name);
    expect(await edit(read)).toBe(409);
    expect(await edit(await attack.get(name))).toBe(200);
  });
});
