// `postern kubeconfig`: prints a kube config for a virtual cluster.

import { createResourceClient } from "@postern/client/resource-client";
import { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { type ConnectionFlags, withClient, withConnectionOptions } from "./connection-options.ts";
import { formatDurationSeconds, parseDurationSeconds } from "./duration-seconds.ts";
import { explainNotFound } from "./explain-not-found.ts";
import { objectAt } from "./json-members.ts";
import { DEFAULT_NAMESPACE_PREFIX, withNamespacePrefixOption } from "./namespace-prefix-option.ts";
import { shellQuote } from "./shell-quote.ts";

type KubeConfigFlags = ConnectionFlags & {
  readonly project: string;
  readonly namespacePrefix: string;
  readonly ttl?: number;
  readonly server?: string;
  readonly clientCert?: boolean;
  readonly contextName?: string;
};

export function createKubeConfigCommand(context: CommandContext): Command {
  const command = new Command("kubeconfig")
    .description("print a kube config for a virtual cluster")
    .argument("<virtual-cluster>", "name of the virtual cluster")
    .option("--project <name>", "project of the virtual cluster", "default")
    .option("--ttl <duration>", "life of its credential, such as 90m, 12h or 30d", parseDurationSeconds)
    .option("--server <url>", "server address to write into it")
    .option("--context-name <name>", "name of cluster, user and context in it (default: <project>-<virtual-cluster>)")
    .option("--cert, --client-cert", "with a client certificate instead of a token")
    .action((name: string, flags: KubeConfigFlags) =>
      withClient(flags, context, async (client, group) => {
        const instances = createResourceClient(client, {
          group,
          version: "v1",
          resource: "virtualclusterinstances",
          namespace: `${flags.namespacePrefix}${flags.project}`,
        });
        const { project, namespacePrefix } = flags;
        const place = { group, namespacePrefix, project, virtualCluster: name };
        const reply = await explainNotFound(client, place, () =>
          instances.createSubresource(name, "kubeconfig", {
            apiVersion: `${group}/v1`,
            kind: "VirtualClusterInstanceKubeConfig",
            metadata: {},
            spec: {
              certificateTTL: flags.ttl,
              server: flags.server,
              clientCert: flags.clientCert,
              contextName: flags.contextName,
            },
          }),
        );
        const { kubeConfig, expirationTimestamp } = objectAt(reply, "status");
        context.stdout.write(typeof kubeConfig === "string" ? kubeConfig : "");
        if (typeof expirationTimestamp === "string") {
          const what = flags.clientCert === true ? "client certificate" : "token";
          const again = commandLine(name, flags);
          context.stderr.write(`its ${what} ends at ${expirationTimestamp}; for a new one run it again: ${again}\n`);
        }
      }),
    );
  return withConnectionOptions(withNamespacePrefixOption(command));
}

/** The command line that gives the same again. */
function commandLine(name: string, flags: KubeConfigFlags): string {
  const { project, namespacePrefix, ttl, server, clientCert, contextName, kubeconfig, context } = flags;
  const option = (flag: string, value: string | undefined) => (value === undefined ? [] : [flag, shellQuote(value)]);
  return [
    ...["postern", "kubeconfig", shellQuote(name), "--project", shellQuote(project)],
    ...option("--namespace-prefix", namespacePrefix === DEFAULT_NAMESPACE_PREFIX ? undefined : namespacePrefix),
    ...option("--ttl", ttl === undefined ? undefined : formatDurationSeconds(ttl)),
    ...option("--server", server),
    ...option("--context-name", contextName),
    ...(clientCert === true ? ["--client-cert"] : []),
    ...option("--kubeconfig", kubeconfig),
    ...option("--context", context),
  ].join(" ");
}
