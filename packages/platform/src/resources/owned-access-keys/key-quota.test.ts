import { afterEach, expect, it } from "vitest";
import { type AccessKeyServer, createAccessKeyServer } from "../../access-keys/testing/access-key-server.ts";

let server: AccessKeyServer;
afterEach(() => server[Symbol.asyncDispose]());

const send = (method: string, url: string, body: unknown) =>
  server.send({
    method,
    url,
    body,
    user: { name: "root", groups: ["system:masters"] },
    headers: { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" },
  });
const create = (spec: object) => send("POST", "ownedaccesskeys", { metadata: { generateName: "k-" }, spec });

it("security book 54: an owner has no more keys than the setting allows", async () => {
  server = await createAccessKeyServer({ accessKeys: { maxPerOwner: 2 } });
  for (const name of ["jane", "joe"]) await send("POST", "users", { metadata: { name }, spec: {} });
  const statuses = [];
  for (let at = 0; at < 3; at++) statuses.push((await create({ user: "jane" })).status);
  expect(statuses).toEqual([201, 201, 403]);
  const refused = await create({ user: "jane" });
  expect(refused.body.message).toContain('the user "jane" has 2 access keys, and the server allows 2');
  const joes = await create({ user: "joe" });
  expect(joes.status).toBe(201);
  const moved = await send("PATCH", `ownedaccesskeys/${joes.body.metadata.name}`, { spec: { user: "jane" } });
  expect(moved.status).toBe(403);
  const [first] = server.keys.ownedBy({ kind: "user", name: "jane" });
  expect((await send("PATCH", `ownedaccesskeys/${first?.name}`, { spec: { displayName: "x" } })).status).toBe(200);
  await send("DELETE", `ownedaccesskeys/${first?.name}`, undefined);
  expect((await create({ user: "jane" })).status).toBe(201);
});
