// Flags that select a server, and the resulting client.

import { BUILD_INFO } from "@postern/apimachinery/build-info";
import { isJsonArray, isJsonObject } from "@postern/apimachinery/json/json-value";
import { type ApiClient, createApiClient } from "@postern/client/api-client";
import { createNodeTransport } from "@postern/client/transport/node";
import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { type ConnectionFlags, type FoundConnection, findConnection } from "./login/platforms.ts";
import { UsageError } from "./usage-error.ts";

export type { ConnectionFlags } from "./login/platforms.ts";

export const withConnectionOptions = (command: Command): Command =>
  command
    .option(
      "--kubeconfig <file>",
      "kubeconfig of the platform, instead of the one you are signed in to [env: KUBECONFIG]",
    )
    .option("--context <name>", "context in the kubeconfig, instead of the current one")
    .option("--server <name>", "name or address of a platform that you are signed in to, instead of the current one");

type ClientOptions = {
  /** Default: all warnings of the server are printed. */
  readonly printsWarning?: (text: string) => boolean;
};

/** A client for the duration of `use`, and the platform's management group as the server names it. */
export async function withClient<T>(
  flags: ConnectionFlags,
  context: CommandContext,
  use: (client: ApiClient, managementGroup: string) => Promise<T>,
  options: ClientOptions = {},
): Promise<T> {
  return await withConnection(await findConnection(flags, context.environment), context, use, options);
}

/** The same for a known connection. */
export async function withConnection<T>(
  connection: Pick<FoundConnection, "transport" | "token">,
  { stderr }: CommandContext,
  use: (client: ApiClient, managementGroup: string) => Promise<T>,
  { printsWarning = () => true }: ClientOptions = {},
): Promise<T> {
  await using transport = createNodeTransport(connection.transport);
  const client = createApiClient({
    transport,
    userAgent: `postern/${BUILD_INFO.version} (${process.platform}/${process.arch})`,
    onWarning(text) {
      if (printsWarning(text)) stderr.write(`Warning: ${text}\n`);
    },
    ...(connection.token === undefined ? {} : { token: connection.token }),
  });
  return await use(client, await findManagementGroup(client));
}

/** The group's domain is a setting of the server, so it is read from discovery. */
async function findManagementGroup(client: ApiClient): Promise<string> {
  const discovery = await client.request({ method: "GET", path: "/apis" });
  const groups = isJsonObject(discovery) ? discovery["groups"] : undefined;
  for (const group of isJsonArray(groups) ? groups : []) {
    const name = isJsonObject(group) ? group["name"] : undefined;
    if (typeof name === "string" && name.startsWith("management.")) return name;
  }
  throw new UsageError("this server is not Postern: it has no management API (check its address)");
}
