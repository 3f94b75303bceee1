// A server for the attacks of the security book, and the people in them: an administrator, and one who has no rights.

import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { vi } from "vitest";
import { type Answer, type HttpRequest, httpClient } from "../../e2e/testing/http-client.ts";
import { object, PLATFORM, type RightsServer, startRightsServer, whenReady } from "./rights-world.ts";

export const KEYS = `${PLATFORM}/ownedaccesskeys`;
export const INSTANCES = `${PLATFORM}/namespaces/p-default/virtualclusterinstances`;
export const DEMO = "/kubernetes/project/default/virtualcluster/demo";

export type BookServer = RightsServer & {
  /** With the administrator's key unless another is given. */
  ask(path: string, request?: HttpRequest): Promise<Answer>;
  readonly admin: string;
  /** A user without rights, and a key of it. */
  newUser(name: string, spec?: object): Promise<string>;
  newKey(name: string, spec: object): Promise<string>;
  /** With a client certificate and without a key. */
  withCertificate(path: string, certificate: { readonly cert: string; readonly key: string }): Promise<number>;
};

export async function startBookServer(flags: readonly string[] = []): Promise<BookServer> {
  const server = await startRightsServer(flags);
  const http = await httpClient(server.process);
  const ca = await readFile(server.process.caFile);
  const admin = /token: (\S+)/.exec(await readFile(server.process.adminKubeconfig, "utf8"))?.[1] ?? "";
  const newKey = async (name: string, spec: object): Promise<string> =>
    (await server.send(KEYS, object("OwnedAccessKey", name, spec))).spec.key;
  await vi.waitFor(() => whenReady(server, `${INSTANCES}/demo`), { timeout: 60_000 });
  return {
    ...server,
    admin,
    ask: (path, asked = {}) => http(path, { key: admin, ...asked }),
    newKey,
    async newUser(name, spec) {
      await server.send(`${PLATFORM}/users`, object("User", name, spec));
      return await newKey(`key-of-${name}`, { user: name });
    },
    withCertificate: (path, certificate) =>
      new Promise((resolve, reject) => {
        const sent = request(`${server.process.url}${path}`, { ca, ...certificate, agent: false });
        sent.on("response", (response: IncomingMessage) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        sent.on("error", reject);
        sent.end();
      }),
  };
}
