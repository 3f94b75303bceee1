// The platforms that the user is signed in to: a kubeconfig file with mode 0600 and one context per platform, which kubectl can read.

import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { KubeconfigError, parseKubeconfig } from "@postern/client/kubeconfig";
import { changeKubeconfigFile, putKubeconfigEntries, removeKubeconfigEntry } from "@postern/client/kubeconfig-file";
import { type Connection, kubeconfigFiles, loadConnection } from "@postern/client/load-kubeconfig";
import type { CommandContext } from "../command-context.ts";
import { UsageError } from "../usage-error.ts";

type Environment = CommandContext["environment"];

export type Platform = {
  /** The host and port of its address, unless `postern login --name` sets another name. */
  readonly name: string;
  readonly server: string;
  readonly isCurrent: boolean;
};

export type ConnectionFlags = {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly server?: string;
};

export type FoundConnection = Connection & {
  /** Where it was found, for messages. */
  readonly from: string;
  /** The flags and variables that select it again, from any folder and any environment. Neither contains a secret. */
  readonly flags: readonly string[];
  readonly variables: readonly { readonly name: string; readonly value: string }[];
};

/** Where `postern login` stores credentials. */
export function platformsFile(environment: Environment): string {
  const base = environment["XDG_CONFIG_HOME"] ?? join(environment["HOME"] ?? homedir(), ".config");
  return join(base, "postern", "platforms.yaml");
}

/** In the order of the file; empty before the first sign-in. */
export async function listPlatforms(environment: Environment): Promise<readonly Platform[]> {
  const path = platformsFile(environment);
  const text = await readIfThere(path);
  if (text === undefined) return [];
  const { contexts, clusters, currentContext } = parseKubeconfig(text, path);
  return [...contexts.keys()].map((name) => ({
    name,
    server: clusters.get(name)?.server ?? "",
    isCurrent: name === currentContext,
  }));
}

/** Stores the credential, and makes the platform the current one. */
export async function savePlatform(
  environment: Environment,
  {
    name,
    server,
    token,
    certificateAuthorityPem,
  }: { name: string; server: string; token: string; certificateAuthorityPem?: string | undefined },
): Promise<void> {
  const path = platformsFile(environment);
  const trust =
    certificateAuthorityPem === undefined
      ? {}
      : { "certificate-authority-data": Buffer.from(certificateAuthorityPem).toString("base64") };
  const entry = { name, cluster: { server, ...trust }, user: { token } };
  await changeKubeconfigFile(path, (text) => putKubeconfigEntries(text, path, [entry], name));
}

/** Deletes the credential. The first remaining platform becomes the current one. */
export async function forgetPlatform(environment: Environment, name: string): Promise<void> {
  const path = platformsFile(environment);
  await changeKubeconfigFile(path, (text) => {
    const without = removeKubeconfigEntry(text, path, name);
    const { currentContext, contexts } = parseKubeconfig(without, path);
    const [next] = contexts.keys();
    return currentContext !== "" || next === undefined ? without : putKubeconfigEntries(without, path, [], next);
  });
}

/** The platform with that name or address. Throws UsageError. */
export async function findPlatform(environment: Environment, nameOrAddress: string): Promise<Platform> {
  const platforms = await listPlatforms(environment);
  const found = platforms.find(
    ({ name, server }) => name === nameOrAddress || server === addressOrEmpty(nameOrAddress),
  );
  if (found !== undefined) return found;
  const known = platforms.length === 0 ? "" : ` (signed in: ${platforms.map(({ name }) => name).join(", ")})`;
  throw new UsageError(`you are not signed in to ${nameOrAddress}: run postern login${known}`);
}

/**
 * The platform of the command. In this order: `--kubeconfig` or `--context`, `--server`, POSTERN_URL with POSTERN_TOKEN, the current
 * platform of `postern login`, and the kubeconfig of kubectl. Throws UsageError and KubeconfigError.
 */
export async function findConnection(flags: ConnectionFlags, environment: Environment): Promise<FoundConnection> {
  const { kubeconfig, context, server } = flags;
  if (kubeconfig !== undefined || context !== undefined) {
    if (server !== undefined) throw new UsageError("--server cannot be combined with --kubeconfig or --context");
    return await kubectlConnection(flags, environment);
  }
  if (server === undefined) {
    const fromEnvironment = await environmentConnection(environment);
    if (fromEnvironment !== undefined) return fromEnvironment;
  }
  const platforms = await listPlatforms(environment);
  const chosen =
    server === undefined ? platforms.find(({ isCurrent }) => isCurrent) : await findPlatform(environment, server);
  if (chosen !== undefined) {
    const { name } = chosen;
    const connection = await loadConnection({ environment, path: platformsFile(environment), context: name });
    const base = environment["XDG_CONFIG_HOME"];
    const variables = base === undefined ? [] : [{ name: "XDG_CONFIG_HOME", value: resolve(base) }];
    return { ...connection, from: `postern login ${name}`, flags: ["--server", name], variables };
  }
  try {
    return await kubectlConnection(flags, environment);
  } catch (error) {
    if (!(error instanceof KubeconfigError) || environment["KUBECONFIG"] !== undefined) throw error;
    throw new UsageError(`${error.message}; or sign in with postern login`);
  }
}

/** The connection of the named kubeconfig file, or of the one that kubectl uses. */
async function kubectlConnection(
  { kubeconfig, context }: ConnectionFlags,
  environment: Environment,
): Promise<FoundConnection> {
  const connection = await loadConnection({
    environment,
    ...(kubeconfig === undefined ? {} : { path: kubeconfig }),
    ...(context === undefined ? {} : { context }),
  });
  const { contextName } = connection;
  const files = (kubeconfig === undefined ? kubeconfigFiles(environment) : [kubeconfig]).map((file) => resolve(file));
  const [file = "", ...others] = files;
  const isList = others.length > 0;
  return {
    ...connection,
    from: `context ${contextName} of ${kubeconfig ?? environment["KUBECONFIG"] ?? "~/.kube/config"}`,
    flags: [...(isList ? [] : ["--kubeconfig", file]), "--context", contextName],
    // A context and its user may be in two files of the list.
    variables: isList ? [{ name: "KUBECONFIG", value: files.join(delimiter) }] : [],
  };
}

async function environmentConnection(environment: Environment): Promise<FoundConnection | undefined> {
  const { POSTERN_URL: url = "", POSTERN_TOKEN: token = "", POSTERN_CA: authority = "" } = environment;
  if (url === "") {
    if (token !== "") throw new UsageError("POSTERN_TOKEN is set without POSTERN_URL: set the address of the platform");
    return undefined;
  }
  if (token === "") throw new UsageError("POSTERN_URL is set without POSTERN_TOKEN: set an access key");
  return {
    transport: {
      server: parseAddress(url),
      insecureSkipTlsVerify: false,
      ...(authority === "" ? {} : { certificateAuthorityPem: await readAuthority(authority) }),
    },
    token: token.trim(),
    namespace: "default",
    contextName: "",
    from: "POSTERN_URL and POSTERN_TOKEN",
    flags: [],
    // The key stays where it is: in POSTERN_TOKEN of the process that runs kubectl.
    variables: [
      { name: "POSTERN_URL", value: parseAddress(url) },
      ...(authority === "" ? [] : [{ name: "POSTERN_CA", value: absoluteAuthority(authority) }]),
    ],
  };
}

const isPem = (text: string): boolean => text.includes("-----BEGIN CERTIFICATE-----");
const absoluteAuthority = (textOrPath: string): string => (isPem(textOrPath) ? textOrPath : resolve(textOrPath));

/** A PEM bundle, given as text or as the path of a file. Throws UsageError. */
export async function readAuthority(textOrPath: string): Promise<string> {
  if (isPem(textOrPath)) return textOrPath;
  const text = await readFile(textOrPath, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`cannot read the certificate authority ${textOrPath} (${error.code})`);
  });
  if (!isPem(text)) throw new UsageError(`${textOrPath} contains no PEM certificate`);
  return text;
}

/** The base URL of a platform; `https://` may be left out. Throws UsageError. */
export function parseAddress(text: string): string {
  const address = addressOrEmpty(text);
  if (address === "")
    throw new UsageError(`${JSON.stringify(text)} is not the address of a platform: write https://host:port`);
  return address;
}

function addressOrEmpty(text: string): string {
  const withScheme = text.includes("://") ? text : `https://${text}`;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  const isPlain =
    url !== undefined && url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (!isPlain || url.protocol !== "https:") return "";
  return `${url.origin}${url.pathname.replace(/\/$/, "")}`;
}

const readIfThere = (path: string): Promise<string | undefined> =>
  readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new KubeconfigError(`cannot read ${path} (${error.code})`, { cause: error });
  });
