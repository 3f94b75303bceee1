// Users and teams: what is shown, and what cannot be granted.

import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { testUser } from "../../../../testing/request-context.ts";
import { type AccessKeyServer, createAccessKeyServer } from "../../../access-keys/testing/access-key-server.ts";

const admin = { name: "root", groups: ["system:masters", "system:authenticated"] };
/** May write users, but not impersonate any. */
const clerk = testUser("clerk", ["staff"]);

let server: AccessKeyServer;

beforeEach(async () => {
  server = await createAccessKeyServer();
});

afterEach(() => server[Symbol.asyncDispose]());

const post = (url: string, name: string, spec: object = {}, user: UserInfo = admin) =>
  server.send({ method: "POST", url, user, body: { metadata: { name }, spec } });

describe("users", () => {
  it("show the teams they are in, by name and by group, and store them nowhere", async () => {
    await post("users", "jane", { groups: ["eng"], imagePullSecrets: [{ secretName: "s" }] });
    await post("teams", "b", { users: ["jane"] });
    await post("teams", "a", { groups: ["eng"] });
    await post("teams", "c", { users: ["joe"] });
    const { body } = await server.send({ url: "users/jane", user: admin });
    expect(body.status).toMatchObject({ teams: ["a", "b"], conditions: [{ type: "Ready", status: "True" }] });
    expect(body.spec.imagePullSecrets).toEqual([{ secretName: "s" }]);
    expect((await server.send({ url: "users", user: admin })).body.items[0].status.teams).toEqual(["a", "b"]);
    const put = await server.send({ method: "PUT", url: "users/jane", user: admin, body });
    expect(put.body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
    expect(await server.dump()).not.toContain(`"status"`);
  });

  it.each([
    [{ groups: ["system:masters"] }, "spec.groups[0]"],
    [{ subject: "system:admin" }, "spec.subject"],
    [{ subject: "System:admin" }, "spec.subject"],
    [{ subject: "postern:team:devs" }, "spec.subject"],
    [{ subject: "jane" }, "spec.subject"],
  ])("are never %j (security book 7, 29)", async (spec, field) => {
    await post("users", "jane");
    const { status, body } = await post("users", "joe", spec);
    expect([status, body.details?.causes?.[0]?.field]).toEqual([422, field]);
  });

  it.each([[{ groups: ["postern:admins"] }], [{ subject: "root" }]])(
    "are not made %j without permission to impersonate it (security book 12)",
    async (spec) => {
      expect((await post("users", "joe", spec, clerk)).status).toBe(403);
      expect((await post("users", "joe", { groups: ["staff"] }, clerk)).status).toBe(201);
    },
  );
});

describe("teams", () => {
  it("are in the directory, with a version that goes up", async () => {
    await post("users", "jane");
    const { version } = server.directory;
    await post("teams", "devs", { displayName: "Devs", users: ["jane", "nobody"] });
    expect(server.directory.version).toBeGreaterThan(version);
    expect(server.directory.team("devs")?.displayName).toBe("Devs");
    expect(server.directory.teamsOf("jane").map(({ name }) => name)).toEqual(["devs"]);
    expect(server.directory.teamsOf("nobody")).toEqual([]);
  });

  it("cannot have the groups of the system", async () => {
    expect((await post("teams", "t", { groups: ["system:authenticated"] })).status).toBe(422);
  });
});
