// The flags that choose a server, and the client they stand for.

import { BUILD_INFO } from "@postern/apimachinery/build-info";
import { isJsonArray, isJsonObject } from "@postern/apimachinery/json/json-value";
import { type ApiClient, createApiClient } from "@postern/client/api-client";
import { loadConnection } from "@postern/client/load-kube-config";
import { createNodeTransport } from "@postern/client/transport/node";
import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { UsageError } from "./usage-error.ts";

export type ConnectionFlags = { readonly kubeconfig?: string; readonly context?: string };

export const withConnectionOptions = (command: Command): Command =>
  command
    .option("--kubeconfig <file>", "kube config of the platform [env: KUBECONFIG]")
    .option("--context <name>", "context in it, instead of the current one");

/** A client for as long as `use` runs, and the platform's management group, as the server names it. */
export async function withClient<T>(
  flags: ConnectionFlags,
  { environment, stderr }: CommandContext,
  use: (client: ApiClient, managementGroup: string) => Promise<T>,
): Promise<T> {
  const connection = await loadConnection({
    environment,
    ...(flags.kubeconfig === undefined ? {} : { path: flags.kubeconfig }),
    ...(flags.context === undefined ? {} : { context: flags.context }),
  });
  await using transport = createNodeTransport(connection.transport);
  const client = createApiClient({
    transport,
    userAgent: `postern/${BUILD_INFO.version} (${process.platform}/${process.arch})`,
    onWarning: (text) => stderr.write(`Warning: ${text}\n`),
    ...(connection.token === undefined ? {} : { token: connection.token }),
  });
  return await use(client, await findManagementGroup(client));
}

/** The group's domain is a setting of the server, so discovery is asked for it. */
async function findManagementGroup(client: ApiClient): Promise<string> {
  const discovery = await client.request({ method: "GET", path: "/apis" });
  const groups = isJsonObject(discovery) ? discovery["groups"] : undefined;
  for (const group of isJsonArray(groups) ? groups : []) {
    const name = isJsonObject(group) ? group["name"] : undefined;
    if (typeof name === "string" && name.startsWith("management.")) return name;
  }
  throw new UsageError("the server is no Postern: it has no management API (check --context)");
}
