// Finds kubeconfig files as kubectl does, and loads the files that they refer to.

import { readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import {
  type Kubeconfig,
  KubeconfigError,
  mergeKubeconfigs,
  type PemSource,
  parseKubeconfig,
  resolveContext,
} from "./kubeconfig.ts";
import type { NodeTransportOptions } from "./transport/node.ts";

export type LoadOptions = {
  /** One file, which must exist; takes precedence over KUBECONFIG. */
  readonly path?: string;
  readonly context?: string;
  readonly environment: { readonly [name: string]: string | undefined };
};

/** The address and the credential of one context. */
export type Connection = {
  readonly transport: NodeTransportOptions;
  readonly token?: string;
  /** The context's namespace. */
  readonly namespace: string;
  readonly contextName: string;
};

/** Throws KubeconfigError if there is no usable context, or if this client does not support its authentication method. */
export async function loadConnection(options: LoadOptions): Promise<Connection> {
  return await connectTo(await loadKubeconfig(options), options.context);
}

/** The same for a kubeconfig that is loaded already. */
export async function connectTo(config: Kubeconfig, context?: string): Promise<Connection> {
  const { name, cluster, user, namespace } = resolveContext(config, context);
  if (user.unsupported.length > 0 && user.token === undefined && user.clientCertificate === undefined) {
    throw new KubeconfigError(
      `context ${JSON.stringify(name)} authenticates with ${user.unsupported.join(", ")}, which is not supported: use a token or a client certificate`,
    );
  }
  const [ca, cert, key, token] = await Promise.all([
    readPem(cluster.certificateAuthority),
    readPem(user.clientCertificate),
    readPem(user.clientKey),
    user.token ?? (user.tokenFile === undefined ? undefined : readText(user.tokenFile)),
  ]);
  return {
    transport: {
      server: cluster.server,
      insecureSkipTlsVerify: cluster.insecureSkipTlsVerify,
      ...(ca === undefined ? {} : { certificateAuthorityPem: ca }),
      ...(cluster.tlsServerName === undefined ? {} : { tlsServerName: cluster.tlsServerName }),
      ...(cluster.proxyURL === undefined ? {} : { proxyURL: cluster.proxyURL }),
      ...(cert === undefined || key === undefined ? {} : { clientCertificatePem: cert, clientKeyPem: key }),
    },
    ...(token === undefined ? {} : { token: token.trim() }),
    namespace,
    contextName: name,
  };
}

/** The files of KUBECONFIG, or the one in the home directory. kubectl writes into the first. */
export function kubeconfigFiles(environment: LoadOptions["environment"]): readonly [string, ...string[]] {
  const [first, ...others] = (environment["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  return first === undefined ? [userKubeconfig(environment)] : [first, ...others];
}

/** `~/.kube/config`. Throws KubeconfigError. */
export const userKubeconfig = (environment: LoadOptions["environment"]): string =>
  join(homeDirectory(environment), ".kube", "config");

/** Throws KubeconfigError if the user has none: a container may run under a user ID without an entry in passwd. */
export function homeDirectory(environment: LoadOptions["environment"]): string {
  const named = environment["HOME"] ?? "";
  if (named !== "") return named;
  try {
    return userInfo().homedir;
  } catch (cause) {
    throw new KubeconfigError("there is no home directory: set HOME", { cause });
  }
}

/** The named file, or those that kubectl merges. Throws KubeconfigError. */
export async function loadKubeconfig({ path, environment }: LoadOptions): Promise<Kubeconfig> {
  if (path !== undefined) return readKubeconfig(resolve(path));
  const files = kubeconfigFiles(environment);
  const configs: Kubeconfig[] = [];
  for (const file of files) {
    // Like kubectl, skips missing files of a list.
    const config = await readKubeconfig(resolve(file)).catch((error: unknown) => {
      if (error instanceof KubeconfigError && isMissing(error.cause)) return undefined;
      throw error;
    });
    if (config !== undefined) configs.push(config);
  }
  if (configs.length === 0) {
    throw new KubeconfigError(`no kubeconfig found in ${files.join(", ")}: name one with --kubeconfig or KUBECONFIG`);
  }
  return mergeKubeconfigs(configs);
}

async function readKubeconfig(path: string): Promise<Kubeconfig> {
  return parseKubeconfig(await readText(path), path, (file) => resolve(dirname(path), file));
}

async function readPem(source: PemSource | undefined): Promise<string | undefined> {
  if (source === undefined) return undefined;
  return "pem" in source ? source.pem : readText(source.file);
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown error";
    throw new KubeconfigError(`cannot read ${path} (${code})`, { cause });
  }
}

const isMissing = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "ENOENT";
