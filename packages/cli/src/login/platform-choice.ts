// Which platform a command uses: the order of everything that can name one, in one place.

import type { KeyObject } from "node:crypto";
import { lstat, realpath, stat } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { type Kubeconfig, KubeconfigError } from "@postern/client/kubeconfig";
import {
  type Connection,
  connectTo,
  kubeconfigFiles,
  loadConnection,
  loadKubeconfig,
} from "@postern/client/load-kubeconfig";
import type { CommandContext } from "../command-context.ts";
import { UsageError } from "../usage-error.ts";
import { environmentProof, proofVariables } from "./environment-proof.ts";
import { markOf, type PlatformMark } from "./platform-mark.ts";
import {
  absoluteAuthority,
  findPlatform,
  listPlatforms,
  parseAddress,
  platformsFile,
  readAuthority,
} from "./platforms.ts";
import { environmentKeyPair } from "./request-proof.ts";
import { TRUST_RULE, type WorkloadIdentity, workloadIdentity, workloadVariables } from "./workload-identity.ts";

type Environment = CommandContext["environment"];
type Surroundings = Pick<CommandContext, "environment" | "workingDirectory">;

export type ConnectionFlags = {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly server?: string;
};

/** The first that names a platform wins. The help, the README and the guide have the same lines. */
export const PLATFORM_ORDER: readonly string[] = [
  "the flags --kubeconfig, --context and --server",
  "the environment variables POSTERN_URL and POSTERN_TOKEN, or POSTERN_URL and POSTERN_TRUST_RULE",
  "the login: the current platform of postern login",
  "the kubeconfig of kubectl: KUBECONFIG, else ~/.kube/config; the context of a virtual cluster leads to its platform",
  "the server of this folder: admin.kubeconfig in POSTERN_DATA_DIR, else in ./data for a server of this machine",
];

/** The paths at which a platform serves others, and itself in the kubeconfigs that it writes. */
const VIRTUAL_CLUSTER = /\/kubernetes\/(project|cluster)\/[^/]+/;
const MANAGEMENT = /\/kubernetes\/management\/?$/;

export const isPlatformAddress = (server: string): boolean => MANAGEMENT.test(server);

export type Source = "flag" | "environment" | "login" | "kubeconfig" | "folder";

export type FoundConnection = Connection & {
  readonly source: Source;
  /** Where it was found, for messages. */
  readonly from: string;
  /** The flags and variables that select it again, from any folder and any environment. Neither contains a secret. */
  readonly flags: readonly string[];
  readonly variables: readonly { readonly name: string; readonly value: string }[];
  /** The same, for the contexts of its virtual clusters. */
  readonly mark: PlatformMark;
  /** Whether it says itself that it is a platform. */
  readonly isRecognized: boolean;
  /** The private key of the pair that the token is bound to. */
  readonly keyPair?: KeyObject;
  /** In place of a token. */
  readonly workload?: WorkloadIdentity;
};

/** The platform of the command, in the order of PLATFORM_ORDER. Throws UsageError and KubeconfigError. */
export async function findConnection(flags: ConnectionFlags, surroundings: Surroundings): Promise<FoundConnection> {
  const { kubeconfig, context, server } = flags;
  const { environment } = surroundings;
  if (kubeconfig !== undefined || context !== undefined) {
    if (server !== undefined) throw new UsageError("--server cannot be combined with --kubeconfig or --context");
    return { ...(await kubeconfigConnection(flags, environment)), source: "flag" };
  }
  if (server !== undefined) {
    const { name } = await findPlatform(environment, server);
    return { ...(await loginConnection(name, environment)), source: "flag" };
  }
  const found = await firstOf(SOURCES, (find) => find(surroundings));
  if (found !== undefined) return found;
  throw new UsageError(
    "no platform is named: start a server in this directory with postern serve, sign in to one with postern login, or name one with --kubeconfig, KUBECONFIG, or POSTERN_URL with POSTERN_TOKEN or POSTERN_TRUST_RULE",
  );
}

export type SourceState = { readonly found: FoundConnection } | { readonly source: Source; readonly error: unknown };

/** Everything that names a platform without a flag, in the same order; the first is what commands use. */
export async function listSources(surroundings: Surroundings): Promise<readonly SourceState[]> {
  const names: readonly Source[] = ["environment", "login", "kubeconfig", "folder"];
  const states = await Promise.all(
    SOURCES.map(async (find, at): Promise<readonly SourceState[]> => {
      try {
        const found = await find(surroundings);
        return found === undefined ? [] : [{ found }];
      } catch (error) {
        return [{ source: names[at] ?? "kubeconfig", error }];
      }
    }),
  );
  const found = states.flat();
  const keys = await Promise.all(found.map(identityOf));
  return found.filter((_, at) => keys.indexOf(keys[at] ?? "") === at);
}

/** The same for one file that two rules find: the folder's file is listed as a kubeconfig if KUBECONFIG names it. */
async function identityOf(state: SourceState): Promise<string> {
  if ("error" in state) return String(state.error);
  const { source, mark } = state.found;
  if (mark.kubeconfig === undefined) return source;
  const files = mark.kubeconfig.split(delimiter).map((file) => realpath(file).catch(() => file));
  return JSON.stringify([await Promise.all(files), mark.context]);
}

type FindSource = (surroundings: Surroundings) => Promise<FoundConnection | undefined>;

const SOURCES: readonly FindSource[] = [
  ({ environment }) => environmentConnection(environment),
  ({ environment }) => currentLogin(environment),
  kubectlConnection,
  folderConnection,
];

async function firstOf<T, R>(items: readonly T[], find: (item: T) => Promise<R | undefined>): Promise<R | undefined> {
  for (const item of items) {
    const found = await find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function currentLogin(environment: Environment): Promise<FoundConnection | undefined> {
  const current = (await listPlatforms(environment)).find(({ isCurrent }) => isCurrent);
  return current === undefined ? undefined : await loginConnection(current.name, environment);
}

/** The connection of a login. */
export async function loginConnection(name: string, environment: Environment): Promise<FoundConnection> {
  const connection = await loadConnection({ environment, path: platformsFile(environment), context: name });
  const base = environment["XDG_CONFIG_HOME"] ?? "";
  return {
    ...connection,
    source: "login",
    from: `postern login ${name}`,
    flags: ["--server", name],
    variables: base === "" ? [] : [{ name: "XDG_CONFIG_HOME", value: resolve(base) }],
    mark: { server: connection.transport.server, login: name },
    isRecognized: true,
  };
}

/**
 * Undefined without a file. Most people have a `~/.kube/config` of other clusters: a context there that no platform has written is used only
 * where there is no server in this folder.
 */
async function kubectlConnection(surroundings: Surroundings): Promise<FoundConnection | undefined> {
  const { environment } = surroundings;
  if ((environment["KUBECONFIG"] ?? "") !== "") return await kubeconfigConnection({}, environment);
  const files = await Promise.all(kubeconfigFilesIfHome(environment).map((file) => stat(file).catch(() => undefined)));
  if (files.every((file) => file === undefined)) return undefined;
  const isBesideServer = (await folderConnection(surroundings)) !== undefined;
  try {
    const found = await kubeconfigConnection({}, environment);
    return isBesideServer && !found.isRecognized ? undefined : found;
  } catch (error) {
    if (isBesideServer && error instanceof UsageError) return undefined;
    throw error;
  }
}

/** Without a home directory there is no file in it. */
export function kubeconfigFilesIfHome(environment: Environment): readonly string[] {
  try {
    return kubeconfigFiles(environment);
  } catch {
    return [];
  }
}

/** The platform of the named kubeconfig file, or of those that kubectl uses. */
async function kubeconfigConnection(
  { kubeconfig, context }: ConnectionFlags,
  environment: Environment,
): Promise<FoundConnection> {
  const config = await loadKubeconfig({ environment, ...(kubeconfig === undefined ? {} : { path: kubeconfig }) });
  const files = kubeconfig === undefined ? kubeconfigFiles(environment) : [kubeconfig];
  const origin = kubeconfig ?? ((environment["KUBECONFIG"] ?? "") || "~/.kube/config");
  return await platformIn(config, files, origin, context, environment);
}

async function platformIn(
  config: Kubeconfig,
  files: readonly string[],
  origin: string,
  asked: string | undefined,
  environment: Environment,
): Promise<FoundConnection> {
  const name = asked ?? config.currentContext;
  const context = config.contexts.get(name);
  const mark = context === undefined ? undefined : markOf(context);
  if (mark !== undefined) return await markedConnection(mark, name, origin, environment);
  if (asked !== undefined && context === undefined)
    throw new UsageError(
      `${origin} has no context ${asked}: it has ${[...config.contexts.keys()].join(", ") || "none"}`,
    );
  const problem = context === undefined ? undefined : unfitness(config, name);
  if (context !== undefined && problem === undefined) return await ownConnection(config, files, origin, name);
  const address = context === undefined ? undefined : platformBehind(config.clusters.get(context.cluster)?.server);
  if (asked !== undefined && address === undefined) throw new UsageError(`context ${name} of ${origin} ${problem}`);
  const known = knownPlatforms(config);
  const likely = known.filter((each) => address !== undefined && addressOfPlatform(each.server) === address);
  const possible = likely.length > 0 ? likely : known;
  const [only] = possible;
  if (only !== undefined && possible.length === 1) {
    return only.mark === undefined
      ? await ownConnection(config, files, origin, only.context)
      : await markedConnection(only.mark, only.context, origin, environment);
  }
  const why = context === undefined ? `${origin} has no current context` : `context ${name} of ${origin} ${problem}`;
  const signIn = address === undefined ? "sign in with postern login" : `sign in with postern login ${address}`;
  const choice =
    possible.length === 0
      ? `${signIn}, or name a platform with --kubeconfig, or with --context`
      : `several platforms are possible: choose with ${possible.map((each) => `--context ${each.context} (${each.server})`).join(" or ")}`;
  throw new UsageError(`${why}; ${choice}`);
}

const addressOfPlatform = (server: string): string => server.replace(MANAGEMENT, "");

/** The address of the platform that a virtual cluster belongs to; undefined for other addresses. */
function platformBehind(server: string | undefined): string | undefined {
  const at = server === undefined ? -1 : server.search(VIRTUAL_CLUSTER);
  return at < 0 ? undefined : server?.slice(0, at);
}

/** Undefined for a context that may be one of a platform. */
function unfitness(config: Kubeconfig, name: string): string | undefined {
  const context = config.contexts.get(name);
  const user = config.users.get(context?.user ?? "");
  const server = config.clusters.get(context?.cluster ?? "")?.server ?? "";
  if (VIRTUAL_CLUSTER.test(server)) return "is no platform: it is a virtual cluster";
  const hasCredential = [user?.token, user?.tokenFile, user?.clientCertificate].some((each) => each !== undefined);
  if (hasCredential || user === undefined || user.unsupported.length === 0) return undefined;
  return `is no platform: it authenticates with ${user.unsupported.join(", ")}`;
}

type KnownPlatform = { readonly context: string; readonly server: string; readonly mark?: PlatformMark };

/** Each platform once, of the contexts that say so. */
function knownPlatforms(config: Kubeconfig): readonly KnownPlatform[] {
  const found = new Map<string, KnownPlatform>();
  for (const [name, context] of config.contexts) {
    const mark = markOf(context);
    const { server = "" } = config.clusters.get(context.cluster) ?? {};
    if (mark !== undefined) found.set(JSON.stringify(mark), { context: name, server: mark.server, mark });
    else if (isPlatformAddress(server)) found.set(JSON.stringify([name]), { context: name, server });
  }
  return [...found.values()];
}

/** A context of the platform itself. */
async function ownConnection(
  config: Kubeconfig,
  given: readonly string[],
  origin: string,
  context: string,
): Promise<FoundConnection> {
  const connection = await connectTo(config, context);
  const files = await filesWith(
    context,
    given.map((file) => resolve(file)),
  );
  const isList = files.length > 1;
  return {
    ...connection,
    source: "kubeconfig",
    from: `context ${context} of ${origin}`,
    flags: [...(isList ? [] : ["--kubeconfig", ...files]), "--context", context],
    // A context and its user may be in two files of the list.
    variables: isList ? [{ name: "KUBECONFIG", value: files.join(delimiter) }] : [],
    mark: { server: connection.transport.server, kubeconfig: files.join(delimiter), context },
    isRecognized: isPlatformAddress(connection.transport.server),
  };
}

/** The first file that has all of the context; all files if none has. */
async function filesWith(context: string, files: readonly string[]): Promise<readonly string[]> {
  if (files.length === 1) return files;
  const file = await firstOf(files, async (path) => {
    const config = await loadKubeconfig({ path, environment: {} }).catch(() => undefined);
    const found = config?.contexts.get(context);
    return found !== undefined && config?.clusters.has(found.cluster) && config.users.has(found.user)
      ? path
      : undefined;
  });
  return file === undefined ? files : [file];
}

/** The platform that the context of a virtual cluster came from. */
async function markedConnection(
  mark: PlatformMark,
  context: string,
  origin: string,
  environment: Environment,
): Promise<FoundConnection> {
  const { server, login, kubeconfig } = mark;
  const via = `context ${context} of ${origin}`;
  const advice = `${via} is a virtual cluster of the platform ${server}`;
  const platforms = await listPlatforms(environment);
  const found =
    platforms.find((platform) => platform.name === login && platform.server === server) ??
    (kubeconfig === undefined ? platforms.find((platform) => platform.server === server) : undefined);
  if (found !== undefined) {
    const connection = await loginConnection(found.name, environment);
    return { ...connection, source: "kubeconfig", from: `${connection.from}, the platform of ${via}` };
  }
  if (kubeconfig === undefined || mark.context === undefined)
    throw new UsageError(`${advice}: sign in with postern login ${server}`);
  const files = kubeconfig.split(delimiter);
  try {
    const config = await loadKubeconfig({ environment: { ...environment, KUBECONFIG: kubeconfig } });
    const connection = await ownConnection(config, files, kubeconfig, mark.context);
    return { ...connection, from: `${connection.from}, the platform of ${via}`, isRecognized: true };
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    throw new UsageError(`${advice}, but ${error.message}: sign in with postern login ${server}`);
  }
}

/**
 * The file that a server beside this command has written. Undefined without one, or where another user could have written it: a folder that
 * was unpacked or checked out must not choose the platform. It can only lead to a server of this machine, unless POSTERN_DATA_DIR names it.
 */
async function folderConnection({ environment, workingDirectory }: Surroundings): Promise<FoundConnection | undefined> {
  const named = environment["POSTERN_DATA_DIR"] ?? "";
  const path = join(resolve(workingDirectory, named || "data"), "admin.kubeconfig");
  const file = await lstat(path).catch(() => undefined);
  if (file === undefined || !file.isFile() || (file.mode & 0o077) !== 0) return undefined;
  if (process.getuid !== undefined && file.uid !== process.getuid()) return undefined;
  const config = await loadKubeconfig({ path, environment });
  // The server embeds everything. A path in it could name any file of this user, which would be sent, or would sign in.
  const namesFiles = [...config.users.values()].some(({ tokenFile, clientCertificate, clientKey }) =>
    [tokenFile, clientCertificate, clientKey].some(
      (each) => each !== undefined && (typeof each === "string" || "file" in each),
    ),
  );
  if (namesFiles || config.currentContext === "") return undefined;
  const connection = await ownConnection(config, [path], path, config.currentContext);
  return named !== "" || isThisMachine(connection.transport.server) ? { ...connection, source: "folder" } : undefined;
}

const isThisMachine = (server: string): boolean =>
  URL.canParse(server) && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(server).hostname);

async function environmentConnection(environment: Environment): Promise<FoundConnection | undefined> {
  const { POSTERN_URL: url = "", POSTERN_TOKEN: token = "", POSTERN_CA: authority = "" } = environment;
  if (url === "") {
    const alone = token !== "" ? "POSTERN_TOKEN" : (environment[TRUST_RULE] ?? "") !== "" ? TRUST_RULE : undefined;
    if (alone !== undefined) throw new UsageError(`${alone} is set without POSTERN_URL, the address of the platform`);
    return undefined;
  }
  const server = parseAddress(url);
  const proof = await environmentProof(environment);
  const keyPair = await environmentKeyPair(environment);
  const transport = {
    server,
    insecureSkipTlsVerify: false,
    ...proof,
    ...(authority === "" ? {} : { certificateAuthorityPem: await readAuthority(authority) }),
  };
  const workload = token === "" ? workloadIdentity(transport, environment) : undefined;
  if (token === "" && workload === undefined)
    throw new UsageError(
      `POSTERN_URL is set without POSTERN_TOKEN or ${TRUST_RULE}: set an access key, or a trust rule`,
    );
  return {
    transport,
    ...(workload === undefined ? { token: token.trim() } : { workload }),
    ...(keyPair === undefined ? {} : { keyPair }),
    namespace: "default",
    contextName: "",
    source: "environment",
    from: `POSTERN_URL and ${workload === undefined ? "POSTERN_TOKEN" : TRUST_RULE}`,
    flags: [],
    // Keys and tokens stay where they are: in the environment of the process that runs kubectl, or in the file of the job or pod.
    variables: [
      { name: "POSTERN_URL", value: server },
      ...(authority === "" ? [] : [{ name: "POSTERN_CA", value: absoluteAuthority(authority) }]),
      ...proofVariables(environment),
      ...(workload === undefined ? [] : workloadVariables(environment)),
    ],
    mark: { server },
    isRecognized: true,
  };
}
