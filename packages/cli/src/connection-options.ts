// Flags that select a server, and the resulting client.

import { BUILD_INFO } from "@postern/apimachinery/build-info";
import { isJsonArray, isJsonObject } from "@postern/apimachinery/json/json-value";
import { type ApiClient, createApiClient } from "@postern/client/api-client";
import { createNodeTransport } from "@postern/client/transport/node";
import { type Command, Option } from "commander";
import type { CommandContext } from "./command-context.ts";
import { NotPosternError, PlatformFailure } from "./failure.ts";
import { type ConnectionFlags, type FoundConnection, findConnection, PLATFORM_ORDER } from "./login/platform-choice.ts";
import { createRequestProof } from "./login/request-proof.ts";

export type { ConnectionFlags } from "./login/platform-choice.ts";

export const withConnectionOptions = (command: Command): Command =>
  command
    .addOption(platformOption("--kubeconfig <file>", "use the platform of this kubeconfig, instead of the login"))
    .addOption(platformOption("--context <name>", "use this context of the kubeconfig, instead of the current one"))
    .addOption(
      platformOption("--server <name>", "use the login with this name or address, instead of the current one"),
    );

const platformOption = (flags: string, description: string): Option =>
  new Option(flags, description).helpGroup("Platform (see postern --help):");

/** For help texts: which platform a command uses. */
export const platformHelp = (): string =>
  `Commands use the platform that the first of these names:\n${PLATFORM_ORDER.map((line, at) => `  ${at + 1}. ${line}`).join("\n")}`;

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
  return await withFoundConnection(await chooseConnection(flags, context), context, use, options);
}

/** The platform of the command. Says on a terminal which one it is, if KUBECONFIG suggests another. */
export async function chooseConnection(flags: ConnectionFlags, context: CommandContext): Promise<FoundConnection> {
  const { environment, stderr } = context;
  const connection = await findConnection(flags, context);
  const file = environment["KUBECONFIG"] ?? "";
  if (connection.source === "login" && file !== "" && stderr.isTTY === true)
    stderr.write(
      `Using ${connection.from} (${connection.transport.server}), not KUBECONFIG; --kubeconfig ${file} uses that file.\n`,
    );
  return connection;
}

/** With errors that name the origin of the connection. */
export async function withFoundConnection<T>(
  connection: FoundConnection,
  context: CommandContext,
  use: (client: ApiClient, managementGroup: string) => Promise<T>,
  options: ClientOptions = {},
): Promise<T> {
  try {
    return await withConnection(connection, context, use, options);
  } catch (error) {
    throw error instanceof Error ? new PlatformFailure(error, connection) : error;
  }
}

/** The same for a connection that is not chosen yet. */
export async function withConnection<T>(
  connection: Pick<FoundConnection, "transport" | "token" | "keyPair" | "workload">,
  { stderr, environment }: CommandContext,
  use: (client: ApiClient, managementGroup: string) => Promise<T>,
  { printsWarning = () => true }: ClientOptions = {},
): Promise<T> {
  await using transport = createNodeTransport({ ...connection.transport, proxyEnvironment: environment });
  const { keyPair, token = await connection.workload?.accessKey() } = connection;
  const client = createApiClient({
    transport,
    proof: keyPair && createRequestProof(connection.transport.server, keyPair),
    userAgent: `postern/${BUILD_INFO.version} (${process.platform}/${process.arch})`,
    onWarning(text) {
      if (printsWarning(text)) stderr.write(`Warning: ${text}\n`);
    },
    ...(token === undefined ? {} : { token }),
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
  throw new NotPosternError("this server is not Postern: it has no management API");
}
