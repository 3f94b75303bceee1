// `postern kubeconfig`: prints a kube config for a virtual cluster.

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { createResourceClient } from "@postern/client/resource-client";
import { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { type ConnectionFlags, withClient, withConnectionOptions } from "./connection-options.ts";
import { parseDurationSeconds } from "./duration-seconds.ts";

type KubeConfigFlags = ConnectionFlags & {
  readonly project: string;
  readonly namespacePrefix: string;
  readonly ttl?: number;
  readonly server?: string;
  readonly clientCert?: boolean;
};

export function createKubeConfigCommand(context: CommandContext): Command {
  const command = new Command("kubeconfig")
    .description("print a kube config for a virtual cluster")
    .argument("<virtual-cluster>", "name of the virtual cluster")
    .option("--project <name>", "project of the virtual cluster", "default")
    .option("--namespace-prefix <prefix>", "what the namespaces of projects begin with", "p-")
    .option("--ttl <duration>", "life of its credential, such as 90m, 12h or 30d", parseDurationSeconds)
    .option("--server <url>", "server address to write into it")
    .option("--client-cert", "with a client certificate instead of a token")
    .action((name: string, flags: KubeConfigFlags) =>
      withClient(flags, context, async (client, group) => {
        const instances = createResourceClient(client, {
          group,
          version: "v1",
          resource: "virtualclusterinstances",
          namespace: `${flags.namespacePrefix}${flags.project}`,
        });
        const reply = await instances.createSubresource(name, "kubeconfig", {
          apiVersion: `${group}/v1`,
          kind: "VirtualClusterInstanceKubeConfig",
          metadata: {},
          spec: { certificateTTL: flags.ttl, server: flags.server, clientCert: flags.clientCert },
        });
        const status = isJsonObject(reply) ? reply["status"] : undefined;
        const text = isJsonObject(status) ? status["kubeConfig"] : undefined;
        context.stdout.write(typeof text === "string" ? text : "");
      }),
    );
  return withConnectionOptions(command);
}
