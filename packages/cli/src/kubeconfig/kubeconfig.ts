// `postern kubeconfig`: prints a kubeconfig for a virtual cluster, writes it to a file, or merges it into the one that kubectl uses.

import { resolve } from "node:path";
import type { ApiClient } from "@postern/client/api-client";
import {
  changeKubeconfigFile,
  type KubeconfigEntry,
  putKubeconfigEntries,
  replaceFile,
} from "@postern/client/kubeconfig-file";
import { kubeconfigFiles } from "@postern/client/load-kubeconfig";
import { createResourceClient, listAll } from "@postern/client/resource-client";
import { Command, Option } from "commander";
import type { CommandContext } from "../command-context.ts";
import { withConnection, withConnectionOptions } from "../connection-options.ts";
import { formatDurationSeconds, parseDurationSeconds } from "../duration-seconds.ts";
import { describeFailure } from "../failure.ts";
import { type ConnectionFlags, type FoundConnection, findConnection } from "../login/platforms.ts";
import { DEFAULT_NAMESPACE_PREFIX, withNamespacePrefixOption } from "../namespace-prefix-option.ts";
import { plainText } from "../plain-text.ts";
import { shellQuote } from "../shell-quote.ts";
import { UsageError } from "../usage-error.ts";
import {
  describeKubeconfig,
  type IssuedKubeconfig,
  issueKubeconfig,
  type VirtualClusterPlace,
} from "./issue-kubeconfig.ts";

type KubeconfigFlags = ConnectionFlags & {
  readonly project?: string;
  readonly all?: boolean;
  readonly namespacePrefix: string;
  readonly ttl?: number;
  readonly clusterServer?: string;
  readonly clientCert?: boolean;
  readonly readOnly?: boolean;
  readonly contextName?: string;
  readonly exec?: boolean;
  readonly out?: string;
  readonly merge?: string | true;
};

const DEFAULT_PROJECT = "default";
/** Concurrent requests with `--all`. */
const PARALLEL = 8;

export const createKubeconfigCommand = (context: CommandContext): Command =>
  withConnectionOptions(
    withNamespacePrefixOption(
      new Command("kubeconfig")
        .description("print a kubeconfig for a virtual cluster")
        .argument("[virtual-cluster]", "name of the virtual cluster")
        .option(
          "--project <name>",
          `project of the virtual cluster (default: ${DEFAULT_PROJECT}; with --all: every project)`,
        )
        .addOption(
          new Option("--all", "all virtual clusters that you can see, in one kubeconfig").conflicts("contextName"),
        )
        .option("--exec", "do not include a credential: kubectl gets it from postern")
        .option(
          "--cert, --client-cert",
          "a client certificate instead of a token; its private key stays on this machine",
        )
        .option("--read-only", "a read-only credential, without access to Secrets")
        .option("--ttl <duration>", "TTL of the credential, such as 90m, 12h or 30d", parseDurationSeconds)
        .option("--context-name <name>", "name of cluster, user and context (default: <project>-<virtual-cluster>)")
        .option("--cluster-server <url>", "server address for the kubeconfig")
        .addOption(new Option("--out <file>", "write it to a file with mode 0600").conflicts("merge"))
        .option("--merge [file]", "merge it into a kubeconfig file (default: the one that kubectl uses)"),
    ),
  ).action((name: string | undefined, flags: KubeconfigFlags) => writeKubeconfig(name, flags, context));

async function writeKubeconfig(
  name: string | undefined,
  flags: KubeconfigFlags,
  context: CommandContext,
): Promise<void> {
  if ((name === undefined) === (flags.all !== true)) {
    throw new UsageError("name one virtual cluster, or all of them with --all");
  }
  const connection = await findConnection(flags, context.environment);
  const { issued, failures } = await withConnection(connection, context, async (client, group) => {
    const places = await placesOf(name, flags, client, group);
    return await issueAll(client, places, flags, connection, context);
  });
  for (const failure of failures) context.stderr.write(`${failure}\n`);
  if (issued.length === 0) throw new UsageError("no kubeconfig was issued");
  await deliver(
    issued.map(({ entry }) => withAuthority(entry, connection)),
    flags,
    context,
  );
  const [first] = issued;
  if (name !== undefined && first?.expires !== undefined) {
    const what = flags.clientCert === true ? "client certificate" : "token";
    const again = commandLine(name, flags);
    context.stderr.write(`The ${what} expires at ${plainText(first.expires)}. For a new one, run it again: ${again}\n`);
  }
  if (failures.length > 0)
    throw new UsageError(`${failures.length} of ${failures.length + issued.length} virtual clusters failed`);
}

async function placesOf(
  name: string | undefined,
  { project, namespacePrefix }: KubeconfigFlags,
  client: ApiClient,
  group: string,
): Promise<readonly VirtualClusterPlace[]> {
  if (name !== undefined)
    return [{ group, namespacePrefix, project: project ?? DEFAULT_PROJECT, virtualCluster: name }];
  const address = { group, version: "v1", resource: "virtualclusterinstances" };
  const { items } = await listAll(createResourceClient(client, address));
  const places = items.map(({ metadata: { namespace = "", name: virtualCluster = "" } }) => ({
    ...{ group, namespacePrefix, virtualCluster },
    project: namespace.startsWith(namespacePrefix) ? namespace.slice(namespacePrefix.length) : namespace,
  }));
  const chosen = places.filter((place) => project === undefined || place.project === project);
  if (chosen.length === 0) throw new UsageError("you cannot see any virtual cluster: ask for a role in its project");
  return chosen;
}

/** The names of contexts, where the usual one would mean two of the virtual clusters: a tenant may choose the name of one so that it does. */
function contextNames(places: readonly VirtualClusterPlace[]): readonly (string | undefined)[] {
  const usual = places.map(({ project, virtualCluster }) => `${project}-${virtualCluster}`);
  return places.map(({ project, virtualCluster }, at) =>
    usual.filter((name) => name === usual[at]).length > 1 ? `${project}/${virtualCluster}` : undefined,
  );
}

/**
 * A server that does not know its CA names none. At the address that the connection itself has, the CA of the connection verifies the virtual cluster as
 * well.
 */
function withAuthority(entry: KubeconfigEntry, { transport }: FoundConnection): KubeconfigEntry {
  const { cluster } = entry;
  const { certificateAuthorityPem } = transport;
  const isThere = originOf(String(cluster["server"])) === originOf(transport.server);
  if (certificateAuthorityPem === undefined || !isThere || cluster["certificate-authority-data"] !== undefined) {
    return entry;
  }
  const authority = Buffer.from(certificateAuthorityPem).toString("base64");
  return { ...entry, cluster: { ...cluster, "certificate-authority-data": authority } };
}

/** The scheme may be left out, as for kubectl. */
const originOf = (server: string): string => new URL(server.includes("://") ? server : `https://${server}`).origin;

type Issued = { readonly issued: readonly IssuedKubeconfig[]; readonly failures: readonly string[] };

/** An unreachable cluster does not prevent the others. The error of a single one is thrown. */
async function issueAll(
  client: ApiClient,
  places: readonly VirtualClusterPlace[],
  flags: KubeconfigFlags,
  connection: FoundConnection,
  { program }: CommandContext,
): Promise<Issued> {
  const { ttl, clusterServer, contextName, clientCert, readOnly } = flags;
  const names = new Map(contextNames(places).map((name, at) => [places[at], name]));
  const issue = async (place: VirtualClusterPlace): Promise<IssuedKubeconfig> => {
    const wishes = {
      ttlSeconds: ttl,
      clusterServer,
      contextName: contextName ?? names.get(place),
      clientCert,
      readOnly,
    };
    if (flags.exec !== true) return await issueKubeconfig(client, place, wishes);
    const entry = await describeKubeconfig(client, place, { clusterServer, contextName: wishes.contextName });
    return { entry: { ...entry, user: execUser(place, flags, connection, program) }, expires: undefined };
  };
  const issued: IssuedKubeconfig[] = [];
  const failures: string[] = [];
  for (let start = 0; start < places.length; start += PARALLEL) {
    const group = places.slice(start, start + PARALLEL);
    for (const [at, result] of (await Promise.allSettled(group.map(issue))).entries()) {
      if (result.status === "fulfilled") issued.push(result.value);
      else if (places.length === 1) throw result.reason;
      else failures.push(`${group[at]?.project}/${group[at]?.virtualCluster}: ${describeFailure(result.reason)}`);
    }
  }
  return { issued, failures };
}

/** Source: k8s.io/client-go/tools/clientcmd/api/v1/types.go (ExecConfig) */
function execUser(
  { project, virtualCluster, namespacePrefix }: VirtualClusterPlace,
  { ttl, clientCert, readOnly, clusterServer }: KubeconfigFlags,
  connection: FoundConnection,
  program: CommandContext["program"],
): KubeconfigEntry["user"] {
  const option = (flag: string, value: string | undefined) => (value === undefined ? [] : [flag, value]);
  const args = [
    ...program.args,
    ...["credential", virtualCluster, "--project", project],
    ...option("--namespace-prefix", namespacePrefix === DEFAULT_NAMESPACE_PREFIX ? undefined : namespacePrefix),
    ...option("--ttl", ttl === undefined ? undefined : formatDurationSeconds(ttl)),
    ...option("--cluster-server", clusterServer),
    ...(clientCert === true ? ["--client-cert"] : []),
    ...(readOnly === true ? ["--read-only"] : []),
    ...connection.flags,
  ];
  return {
    exec: {
      apiVersion: "client.authentication.k8s.io/v1",
      command: program.command,
      args,
      ...(connection.variables.length === 0 ? {} : { env: connection.variables.map((each) => ({ ...each })) }),
      interactiveMode: "Never",
      provideClusterInfo: false,
      installHint: "The command postern issues the credential: install it with npm install --global postern",
    },
  };
}

async function deliver(
  entries: readonly KubeconfigEntry[],
  { out, merge, all }: KubeconfigFlags,
  { stdout, stderr, environment, workingDirectory }: CommandContext,
): Promise<void> {
  const current = entries[0]?.name;
  if (merge !== undefined) {
    const path = merge === true ? kubeconfigFiles(environment)[0] : resolve(workingDirectory, merge);
    // A single cluster becomes the current context; of many none does.
    const chosen = all === true ? undefined : current;
    await changeKubeconfigFile(path, (text) => putKubeconfigEntries(text, path, entries, chosen));
    const names = entries.map(({ name }) => name).join(", ");
    stderr.write(
      `${names} ${entries.length === 1 ? "is" : "are"} in ${path}${chosen === undefined ? "" : ", as the current context"}.\n`,
    );
    return;
  }
  const text = putKubeconfigEntries("", "", entries, current);
  if (out === undefined) {
    stdout.write(text);
    return;
  }
  await replaceFile(resolve(workingDirectory, out), text).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`cannot write ${out} (${error.code})`);
  });
  stderr.write(`Written to ${out}.\n`);
}

/** The command line for the same kubeconfig. */
function commandLine(name: string, flags: KubeconfigFlags): string {
  const { project, namespacePrefix, ttl, clusterServer, clientCert, readOnly, contextName, out, merge } = flags;
  const option = (flag: string, value: string | undefined) => (value === undefined ? [] : [flag, shellQuote(value)]);
  return [
    ...["postern", "kubeconfig", shellQuote(name), "--project", shellQuote(project ?? DEFAULT_PROJECT)],
    ...option("--namespace-prefix", namespacePrefix === DEFAULT_NAMESPACE_PREFIX ? undefined : namespacePrefix),
    ...option("--ttl", ttl === undefined ? undefined : formatDurationSeconds(ttl)),
    ...option("--cluster-server", clusterServer),
    ...option("--context-name", contextName),
    ...(clientCert === true ? ["--client-cert"] : []),
    ...(readOnly === true ? ["--read-only"] : []),
    ...option("--out", out),
    ...(merge === true ? ["--merge"] : option("--merge", merge)),
    ...option("--kubeconfig", flags.kubeconfig),
    ...option("--context", flags.context),
    ...option("--server", flags.server),
  ].join(" ");
}
