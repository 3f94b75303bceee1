// `postern kubeconfig`: prints a kubeconfig for a virtual cluster, writes it to a file, or merges it into the one that kubectl uses.

import { resolve } from "node:path";
import type { ApiClient } from "@postern/client/api-client";
import { type KubeconfigEntry, putKubeconfigEntries, replaceFile } from "@postern/client/kubeconfig-file";
import { createResourceClient, listAll } from "@postern/client/resource-client";
import { Command, Option } from "commander";
import { parse } from "yaml";
import type { CommandContext } from "../command-context.ts";
import { chooseConnection, withConnectionOptions, withFoundConnection } from "../connection-options.ts";
import { formatDurationSeconds, parseDurationSeconds } from "../duration-seconds.ts";
import { describeFailure } from "../failure.ts";
import type { ConnectionFlags, FoundConnection } from "../login/platform-choice.ts";
import { markedContext } from "../login/platform-mark.ts";
import { type OutputFlags, withOutputOption } from "../output/output-option.ts";
import { plainText } from "../output/plain-text.ts";
import { shellQuote } from "../output/shell-quote.ts";
import { DEFAULT_NAMESPACE_PREFIX, withNamespacePrefixOption } from "../serve/namespace-prefix-option.ts";
import { UsageError } from "../usage-error.ts";
import type { VirtualClusterName } from "../virtual-cluster-name.ts";
import { type WrapFlags, wrapOption, wrapQuery, writeWrapped } from "../wrap-option.ts";
import { endpointsOption } from "./endpoint-option.ts";
import { choiceOf, type VirtualClusterPlace } from "./explain-not-found.ts";
import {
  contextsOf,
  describeKubeconfig,
  type IssuedKubeconfig,
  isProven,
  issueKubeconfig,
  type KubeconfigWay,
  needsCertificate,
  wrapKubeconfig,
} from "./issue-kubeconfig.ts";
import { mergeKubeconfig } from "./merge-kubeconfig.ts";

type KubeconfigFlags = ConnectionFlags &
  OutputFlags &
  WrapFlags & {
    readonly project?: string;
    readonly all?: boolean;
    readonly namespacePrefix: string;
    readonly ttl?: number;
    readonly clusterServer?: string;
    readonly endpoint?: KubeconfigWay | "Both";
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
      withOutputOption(new Command("kubeconfig"), ["yaml", "json", "name"])
        .description(
          "print a kubeconfig for a virtual cluster, write it to a file, or merge it into the one of kubectl",
        )
        .argument(
          "[virtual-cluster]",
          "name of the virtual cluster, or <project>/<name>; on a terminal, asks if absent",
        )
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
        .addOption(wrapOption(["all", "exec", "merge", "out"]))
        .option("--context-name <name>", "name of cluster, user and context (default: <project>-<virtual-cluster>)")
        .option("--cluster-server <url>", "server address for the kubeconfig")
        .addOption(endpointsOption())
        .addOption(new Option("--out <file>", "write it to a file with mode 0600").conflicts("merge"))
        .option(
          "--merge [file]",
          "merge it into your kubeconfig: the first of KUBECONFIG, or ~/.kube/config; or into a file",
        ),
    ),
  ).action((name: string | undefined, flags: KubeconfigFlags) => writeKubeconfig(name, flags, context));

async function writeKubeconfig(
  given: string | undefined,
  asked: KubeconfigFlags,
  context: CommandContext,
): Promise<void> {
  if (given !== undefined && asked.all === true) throw new UsageError("--all takes no name of a virtual cluster");
  if (asked.output === "name" && asked.out === undefined && asked.merge === undefined)
    throw new UsageError("-o name prints no kubeconfig: add --out or --merge");
  const connection = await chooseConnection(asked, context);
  const clientCert = needsCertificate(asked.clientCert, connection);
  const flags = clientCert === undefined ? asked : { ...asked, clientCert };
  if (flags.wrap !== undefined) {
    await writeWrappedKubeconfig(given, flags, connection, context);
    return;
  }
  const { issued, failures, places } = await withFoundConnection(connection, context, async (client, group) => {
    const places = await placesOf(given, flags, client, group, context);
    return { ...(await issueAll(client, places, flags, connection, context)), places };
  });
  for (const failure of failures) context.stderr.write(`${failure}\n`);
  if (issued.length === 0) throw new UsageError("no kubeconfig was issued");
  await deliver(
    issued.map(({ entry }) => withPlatform(withAuthority(entry, connection), flags, connection)),
    flags,
    context,
  );
  // The private key stays where it is: a file with both would be worth as much as a key without a bond.
  if (isProven(connection) && flags.exec !== true && flags.clientCert !== true)
    context.stderr.write(
      "If the access key is bound to the client certificate of this connection, so is the token: kubectl needs --client-certificate and --client-key as well, or a kubeconfig with --exec.\n",
    );
  const [first] = issued;
  const [place] = places;
  if (flags.all !== true && place !== undefined && first?.expires !== undefined) {
    const what = flags.clientCert === true ? "client certificate" : "token";
    const again = commandLine(place, flags);
    context.stderr.write(`The ${what} expires at ${plainText(first.expires)}. For a new one, run it again: ${again}\n`);
  }
  if (failures.length > 0) throw new UsageError(`${failures.length} of ${places.length} virtual clusters failed`);
}

/** The server makes the private key of a certificate: the reader of the value gets all of it. */
async function writeWrappedKubeconfig(
  given: string | undefined,
  flags: KubeconfigFlags,
  connection: FoundConnection,
  context: CommandContext,
): Promise<void> {
  const { ttl, clusterServer, endpoint, contextName, clientCert, readOnly } = flags;
  const status = await withFoundConnection(connection, context, async (client, group) => {
    const [place] = await placesOf(given, flags, client, group, context);
    if (place === undefined) throw new UsageError("name one virtual cluster");
    const wishes = { ttlSeconds: ttl, clusterServer, endpoint, contextName, clientCert, readOnly };
    return await wrapKubeconfig(client, place, wishes, wrapQuery(flags));
  });
  writeWrapped(status, { output: flags.output === "json" ? "json" : "text" }, context);
}

async function placesOf(
  given: string | undefined,
  flags: KubeconfigFlags,
  client: ApiClient,
  group: string,
  context: CommandContext,
): Promise<readonly VirtualClusterPlace[]> {
  const { project, namespacePrefix, all } = flags;
  if (given !== undefined) return [{ group, namespacePrefix, ...namedPlace(given, project) }];
  const address = { group, version: "v1", resource: "virtualclusterinstances" };
  const list = async (): Promise<readonly VirtualClusterPlace[]> => {
    const { items } = await listAll(createResourceClient(client, address));
    const places = items.map(({ metadata: { namespace = "", name: virtualCluster = "" } }) => ({
      group,
      namespacePrefix,
      virtualCluster,
      project: namespace.startsWith(namespacePrefix) ? namespace.slice(namespacePrefix.length) : namespace,
    }));
    const chosen = places.filter((place) => project === undefined || place.project === project);
    if (chosen.length === 0) throw new UsageError("you cannot see any virtual cluster: ask for a role in its project");
    return chosen;
  };
  if (all === true) return await list();
  return [await pick(await list(), context)];
}

/** `--project` may be written in front of the name. Throws UsageError. */
function namedPlace(given: string, project: string | undefined): VirtualClusterName {
  if (!given.includes("/")) return { project: project ?? DEFAULT_PROJECT, virtualCluster: given };
  const [named = "", virtualCluster = "", ...rest] = given.split("/");
  if (named === "" || virtualCluster === "" || rest.length > 0)
    throw new UsageError(`${given} is no virtual cluster: write its name, or <project>/<name>`);
  const place = { project: named, virtualCluster };
  if (project !== undefined && project !== place.project)
    throw new UsageError(`${given} names another project than --project ${project}`);
  return place;
}

/** Asks on the terminal. Throws UsageError without a choice. */
async function pick(
  places: readonly VirtualClusterPlace[],
  { readAnswer, stderr }: CommandContext,
): Promise<VirtualClusterPlace> {
  const names = places.map(({ project, virtualCluster }) => `${project}/${virtualCluster}`);
  const answer = await readAnswer(() => {
    for (const [at, name] of names.entries()) stderr.write(`  ${at + 1}) ${plainText(name)}\n`);
    stderr.write("Which virtual cluster? Number or name: ");
  });
  if (answer === undefined)
    throw new UsageError(`name one virtual cluster, or all of them with --all; ${choiceOf(names)}`);
  const chosen = places.filter(({ virtualCluster }, at) =>
    [String(at + 1), names[at], virtualCluster].includes(answer),
  );
  const [place] = chosen;
  if (place !== undefined && chosen.length === 1) return place;
  throw new UsageError(
    answer === "" ? "no virtual cluster was chosen" : `${answer} names no virtual cluster of the list`,
  );
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

/** Its context leads back to the platform, for this user on this machine: a file to hand on says nothing about either. */
function withPlatform(
  entry: KubeconfigEntry,
  { merge, exec }: KubeconfigFlags,
  { mark }: FoundConnection,
): KubeconfigEntry {
  if (merge === undefined && exec !== true) return entry;
  return { ...entry, context: { ...entry.context, ...markedContext(mark) } };
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
  const { ttl, clusterServer, endpoint, contextName, clientCert, readOnly } = flags;
  const names = new Map(contextNames(places).map((name, at) => [places[at], name]));
  const issue = async (place: VirtualClusterPlace): Promise<readonly IssuedKubeconfig[]> => {
    const wanted = {
      ttlSeconds: ttl,
      clusterServer,
      endpoint,
      contextName: contextName ?? names.get(place),
      clientCert,
      readOnly,
    };
    const contexts: IssuedKubeconfig[] = [];
    for (const wishes of await contextsOf(client, place, wanted)) {
      if (flags.exec !== true) {
        contexts.push(await issueKubeconfig(client, place, wishes));
        continue;
      }
      const { contextName, endpoint: way } = wishes;
      const entry = await describeKubeconfig(client, place, {
        clusterServer,
        endpoint: way,
        contextName,
        // A way may be one of certificates alone.
        ...(way === undefined ? {} : { clientCert }),
      });
      const user = execUser(place, { ...flags, endpoint: way }, connection, program);
      contexts.push({ entry: { ...entry, user }, expires: undefined });
    }
    return contexts;
  };
  const issued: IssuedKubeconfig[] = [];
  const failures: string[] = [];
  for (let start = 0; start < places.length; start += PARALLEL) {
    const group = places.slice(start, start + PARALLEL);
    for (const [at, result] of (await Promise.allSettled(group.map(issue))).entries()) {
      if (result.status === "fulfilled") issued.push(...result.value);
      else if (places.length === 1) throw result.reason;
      else failures.push(`${group[at]?.project}/${group[at]?.virtualCluster}: ${describeFailure(result.reason)}`);
    }
  }
  return { issued, failures };
}

/** Source: k8s.io/client-go/tools/clientcmd/api/v1/types.go (ExecConfig) */
function execUser(
  { project, virtualCluster, namespacePrefix }: VirtualClusterPlace,
  {
    ttl,
    clientCert,
    readOnly,
    clusterServer,
    endpoint,
  }: Omit<KubeconfigFlags, "endpoint"> & {
    readonly endpoint: KubeconfigWay | undefined;
  },
  connection: FoundConnection,
  program: CommandContext["program"],
): KubeconfigEntry["user"] {
  const option = (flag: string, value: string | undefined) => (value === undefined ? [] : [flag, value]);
  const args = [
    ...program.args,
    ...["credentials", "get", virtualCluster, "--project", project],
    ...option("--namespace-prefix", namespacePrefix === DEFAULT_NAMESPACE_PREFIX ? undefined : namespacePrefix),
    ...option("--ttl", ttl === undefined ? undefined : formatDurationSeconds(ttl)),
    ...option("--cluster-server", clusterServer),
    ...option("--endpoint", endpoint),
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
  { out, merge, all, output }: KubeconfigFlags,
  context: CommandContext,
): Promise<void> {
  const { stdout, stderr, workingDirectory } = context;
  const current = entries[0]?.name;
  const writeNames = () => {
    if (output === "name") for (const { name } of entries) stdout.write(`${plainText(name)}\n`);
  };
  if (merge !== undefined) {
    // A single cluster becomes the current context; of many none does.
    const chosen = all === true ? undefined : current;
    stderr.write(await mergeKubeconfig(entries, merge === true ? undefined : merge, chosen, context));
    writeNames();
    return;
  }
  const yaml = putKubeconfigEntries("", "", entries, current);
  const text = output === "json" ? `${JSON.stringify(parse(yaml), undefined, 2)}\n` : yaml;
  if (out === undefined) {
    stdout.write(text);
    return;
  }
  await replaceFile(resolve(workingDirectory, out), text).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`cannot write ${out} (${error.code})`);
  });
  stderr.write(`Written to ${out}.\n`);
  writeNames();
}

/** The command line for the same kubeconfig. */
function commandLine({ project, virtualCluster: name }: VirtualClusterName, flags: KubeconfigFlags): string {
  const { namespacePrefix, ttl, clusterServer, endpoint, clientCert, readOnly, contextName, out, merge } = flags;
  const option = (flag: string, value: string | undefined) => (value === undefined ? [] : [flag, shellQuote(value)]);
  return [
    ...["postern", "kubeconfig", shellQuote(name), "--project", shellQuote(project)],
    ...option("--namespace-prefix", namespacePrefix === DEFAULT_NAMESPACE_PREFIX ? undefined : namespacePrefix),
    ...option("--ttl", ttl === undefined ? undefined : formatDurationSeconds(ttl)),
    ...option("--cluster-server", clusterServer),
    ...option("--endpoint", endpoint),
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
