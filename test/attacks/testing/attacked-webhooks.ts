// A server whose tenants may name webhooks on this machine: the webhook, another tenant's cluster, and a place that no webhook may be at.

import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { startWebhookServer } from "@postern/platform/features/virtual-clusters/embedded/testing/webhook-server";
import { expect, vi } from "vitest";
import type { Answer, HttpRequest } from "../../e2e/testing/http-client.ts";
import { API, startAttackedServer } from "./attacked-server.ts";

const INSTANCES = `${API}/namespaces/p-default/virtualclusterinstances`;
export const MAPS = "/api/v1/namespaces/default/configmaps";

export type AttackedWebhooks = Awaited<ReturnType<typeof startAttackedWebhooks>>;

/** The tenant whose webhook attacks has the cluster `demo`, the other one `other`. */
export async function startAttackedWebhooks() {
  const server = await startAttackedServer(["--proxy-allowed-addresses", "127.0.0.1"]);
  const webhook = await startWebhookServer();
  let reached = 0;
  const canary = createServer((socket) => {
    reached++;
    socket.destroy();
  }).listen(0, "127.0.0.2");
  await once(canary, "listening");

  const at = (cluster: string, path: string, options: HttpRequest = {}): Promise<Answer> =>
    server.send(`/kubernetes/project/default/virtualcluster/${cluster}${path}`, { key: server.admin, ...options });
  const makeCluster = async (name: string, spec: object, key: string): Promise<void> => {
    const made = await server.send(INSTANCES, { key: server.admin, body: { metadata: { name }, spec } });
    expect(made.status, made.text).toBe(201);
    await vi.waitFor(async () => expect((await at(name, MAPS, { key })).status).toBe(200));
  };
  await makeCluster("other", {}, server.admin);

  return {
    server,
    webhook,
    at,
    /** Resolves when `key` may read it. */
    makeCluster,
    /** Listens on 127.0.0.2, where only this machine gets to, and which is not among the addresses that tenants may name. */
    canaryPort: (canary.address() as AddressInfo).port,
    /** How many connections were made to it. */
    reached: () => reached,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await webhook[Symbol.asyncDispose]();
      canary.close();
    },
  };
}

/** An answer of spaces without an end. `closed` gets what resolves when the server has hung up. */
export const endless =
  (closed: Promise<unknown>[]) =>
  (_request: IncomingMessage, response: ServerResponse): void => {
    closed.push(once(response, "close"));
    const chunk = Buffer.alloc(64 << 10, " ");
    const more = (): void => {
      while (!response.destroyed && response.write(chunk)) {}
      if (!response.destroyed) response.once("drain", more);
    };
    more();
  };
