// Users who create access keys, and their requests, for tests.

import { testUser } from "../../../testing/request-context.ts";
import { ACCESS_KEY_NOT_FOUND } from "../access-key-refusal.ts";
import { type AccessKeyServer, createAccessKeyServer } from "./access-key-server.ts";

export const admin = { name: "root", groups: ["system:masters", "system:authenticated"] };
export const jane = testUser("jane", ["postern:team:devs"]);
export const joe = testUser("joe");
export const OWN_VALUE = "a-value-that-a-client-has-chosen-by-itself";
export const refused = { code: 401, message: ACCESS_KEY_NOT_FOUND };

export const user = (name: string, spec = {}) => ({ metadata: { name }, spec });

/** A server with the users jane and joe, of whom jane is in the team devs. */
export async function createKeyCallers(): Promise<AccessKeyServer> {
  const server = await createAccessKeyServer();
  for (const name of ["jane", "joe"])
    await server.send({ method: "POST", url: "users", user: admin, body: user(name) });
  await server.send({ method: "POST", url: "teams", user: admin, body: user("devs", { users: ["jane"] }) });
  return server;
}

/** Requests to the server of the running test, as jane unless they say otherwise. */
export const keyRequests = (server: () => AccessKeyServer) => ({
  create: (spec: object, { as = jane, name = "ci", query = "", ...more }: any = {}) =>
    server().send({ method: "POST", url: `ownedaccesskeys${query}`, user: as, body: user(name, spec), ...more }),
  patch: (body: object, { as = jane, name = "ci", viaKey }: any = {}) =>
    server().send({
      method: "PATCH",
      url: `ownedaccesskeys/${name}`,
      headers: { "content-type": "application/merge-patch+json" },
      user: as,
      body,
      as: viaKey,
    }),
});
