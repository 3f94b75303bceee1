// `postern cluster join`: prints the line that connects a cluster.

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { ApiClient } from "@postern/client/api-client";
import { createNodeTransport, type NodeTransportOptions } from "@postern/client/transport/node";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, chooseConnection, withFoundConnection } from "../connection-options.ts";
import { objectAt, textAt } from "../json-members.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output-option.ts";
import { shellQuote } from "../shell-quote.ts";
import { clustersOf, mergePatch } from "./clusters.ts";

type JoinFlags = ConnectionFlags & OutputFlags & { readonly manifests?: boolean };

export const createClusterJoinCommand = (context: CommandContext): Command =>
  withOutputOption(
    new Command("join")
      .description("print the line that connects a cluster; it is valid once, and for an hour")
      .argument("<name>", "name of the Cluster, which is created where there is none")
      .option(
        "--manifests",
        "print the manifests, for a cluster whose kubectl does not trust the platform's certificate",
      ),
  ).action(async (name: string, flags: JoinFlags) => {
    const connection = await chooseConnection(flags, context);
    await withFoundConnection(connection, context, async (client, group) => {
      await letAgentConnect(client, group, name);
      const body = { apiVersion: `${group}/v1`, kind: "ClusterJoin", metadata: {} };
      const status = objectAt(await clustersOf(client, group).createSubresource(name, "join", body), "status");
      if (writeAs(flags, status, context)) return;
      const url = textAt(status, "url");
      const until = textAt(status, "expirationTimestamp");
      if (flags.manifests === true) context.stdout.write(await readManifests(url, connection.transport));
      else context.stdout.write(`kubectl apply -f ${shellQuote(url)}\n`);
      context.stderr.write(
        `${flags.manifests === true ? "Apply them" : "Run it"} with a kubeconfig of the cluster, as an administrator there, before ${until}; then: postern cluster list\n`,
      );
    });
  });

/** Creates the Cluster, or has its agent connect it from now on. */
async function letAgentConnect(client: ApiClient, group: string, name: string): Promise<void> {
  const clusters = clustersOf(client, group);
  const spec = { networkPeer: true };
  try {
    const { spec: found } = await clusters.get(name);
    if (isJsonObject(found) && found["networkPeer"] === true) return;
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
    await clusters.create({ apiVersion: `${group}/v1`, kind: "Cluster", metadata: { name }, spec });
    return;
  }
  await clusters.patch(name, mergePatch({ spec }));
}

/** From the address of the command, which may not be that of agents. */
async function readManifests(url: string, options: NodeTransportOptions): Promise<string> {
  await using transport = createNodeTransport({ ...options, server: new URL(options.server).origin });
  const { status, body } = await transport.send({ method: "GET", path: new URL(url).pathname, headers: {} });
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  if (status !== 200) throw new Error(`the platform answers with ${status} instead of the manifests`);
  return Buffer.concat(parts).toString("utf8");
}
