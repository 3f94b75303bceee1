// `postern cluster join`: prints the line that connects a cluster.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import { createNodeTransport, type NodeTransportOptions } from "@postern/client/transport/node";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, chooseConnection, withFoundConnection } from "../connection-options.ts";
import { objectAt, textAt } from "../output/json-members.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { shellQuote } from "../output/shell-quote.ts";
import { connectedOf, mergePatch, type PlaceFlags, withPlaceOptions } from "./clusters.ts";

type JoinFlags = ConnectionFlags & OutputFlags & PlaceFlags & { readonly manifests?: boolean };

export const createClusterJoinCommand = (context: CommandContext): Command =>
  withOutputOption(
    withPlaceOptions(
      new Command("join")
        .description("print the line that connects a cluster; it is valid once, and for an hour")
        .argument("<name>", "name of the Cluster, which is created where there is none")
        .option(
          "--manifests",
          "print the manifests, for a cluster whose kubectl does not trust the platform's certificate",
        ),
    ),
  ).action(async (name: string, flags: JoinFlags) => {
    const connection = await chooseConnection(flags, context);
    await withFoundConnection(connection, context, async (client, group) => {
      const clusters = connectedOf(client, group, flags);
      await letAgentConnect(clusters, group, name, flags);
      const status = objectAt(await clusters.createSubresource(name, "join", { kind: "ClusterJoin" }), "status");
      if (writeAs(flags, status, context)) return;
      const url = textAt(status, "url");
      const until = textAt(status, "expirationTimestamp");
      if (flags.manifests === true)
        context.stdout.write(
          await readManifests(url, { ...connection.transport, proxyEnvironment: context.environment }),
        );
      else context.stdout.write(`kubectl apply -f ${shellQuote(url)}\n`);
      context.stderr.write(
        `${flags.manifests === true ? "Apply them" : "Run it"} with a kubeconfig of the cluster, as an administrator there, before ${until}; then: ${flags.project === undefined ? "postern cluster list" : `kubectl get virtualclusterinstances --namespace ${flags.namespacePrefix}${flags.project}`}\n`,
      );
    });
  });

/** Creates the object, or has its agent connect it from now on. */
async function letAgentConnect(
  clusters: ReturnType<typeof connectedOf>,
  group: string,
  name: string,
  { project }: PlaceFlags,
): Promise<void> {
  const spec = { ...(project === undefined ? {} : { external: true }), networkPeer: true };
  const kind = project === undefined ? "Cluster" : "VirtualClusterInstance";
  try {
    const { spec: found } = await clusters.get(name);
    // One that the platform runs stays as it is: the request for the value says so.
    const isExternal = found !== undefined && "external" in found && found.external === true;
    if (found?.networkPeer === true || (project !== undefined && !isExternal)) return;
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
    await clusters.create({ apiVersion: `${group}/v1`, kind, metadata: { name }, spec });
    return;
  }
  await clusters.patch(name, mergePatch({ spec: { networkPeer: true } }));
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
