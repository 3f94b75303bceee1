// Kubeconfig files as data: parses them, merges several, and resolves a context.
// Source: k8s.io/client-go/tools/clientcmd (loader.go, client_config.go)

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { expectYamlWithinDepth } from "@postern/apimachinery/yaml/tokens-within-depth";
import { parse } from "yaml";

/** Bytes that a kubeconfig contains as PEM, or names by a file. Data takes precedence over the file, as in kubectl. */
export type PemSource = { readonly pem: string } | { readonly file: string };

export type KubeconfigCluster = {
  readonly server: string;
  readonly certificateAuthority?: PemSource;
  readonly insecureSkipTlsVerify: boolean;
  readonly tlsServerName?: string;
  readonly proxyURL?: string;
};

export type KubeconfigUser = {
  readonly token?: string;
  readonly tokenFile?: string;
  readonly clientCertificate?: PemSource;
  readonly clientKey?: PemSource;
  /** Authentication methods that this client does not support, such as `exec`. */
  readonly unsupported: readonly string[];
};

export type KubeconfigContext = {
  readonly cluster: string;
  readonly user: string;
  readonly namespace: string;
  /** Extensions that programs have written into it, by name. */
  readonly extensions: ReadonlyMap<string, JsonObject>;
};

export type Kubeconfig = {
  readonly clusters: ReadonlyMap<string, KubeconfigCluster>;
  readonly users: ReadonlyMap<string, KubeconfigUser>;
  readonly contexts: ReadonlyMap<string, KubeconfigContext>;
  readonly currentContext: string;
};

/** The message is one line that names the file or context and the error. It never contains a credential. */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
}

const UNSUPPORTED_CREDENTIALS = ["exec", "auth-provider", "username"];

/** Parses the text of one file. `origin` names it in errors; `resolveFile` makes its paths absolute. */
export function parseKubeconfig(
  text: string,
  origin: string,
  resolveFile: (path: string) => string = (path) => path,
): Kubeconfig {
  const document = readYaml(text, origin);
  if (!isJsonObject(document)) throw new KubeconfigError(`${origin} is not a kubeconfig: a mapping is expected`);
  const pemSource = (member: JsonObject, name: string): PemSource | undefined => {
    const data = textOf(member[`${name}-data`]);
    if (data !== undefined) return { pem: decodeBase64(data, `${origin}: ${name}-data`) };
    const file = textOf(member[name]);
    return file === undefined ? undefined : { file: resolveFile(file) };
  };

  return {
    currentContext: textOf(document["current-context"]) ?? "",
    clusters: namedMembers(document, "clusters", "cluster", (cluster) => ({
      server: textOf(cluster["server"]) ?? "",
      insecureSkipTlsVerify: cluster["insecure-skip-tls-verify"] === true,
      ...optional("certificateAuthority", pemSource(cluster, "certificate-authority")),
      ...optional("tlsServerName", textOf(cluster["tls-server-name"])),
      ...optional("proxyURL", textOf(cluster["proxy-url"])),
    })),
    users: namedMembers(document, "users", "user", (user) => {
      const tokenFile = textOf(user["tokenFile"]);
      return {
        ...optional("token", textOf(user["token"])),
        ...optional("tokenFile", tokenFile === undefined ? undefined : resolveFile(tokenFile)),
        ...optional("clientCertificate", pemSource(user, "client-certificate")),
        ...optional("clientKey", pemSource(user, "client-key")),
        unsupported: UNSUPPORTED_CREDENTIALS.filter((name) => user[name] !== undefined),
      };
    }),
    contexts: namedMembers(document, "contexts", "context", (context) => ({
      cluster: textOf(context["cluster"]) ?? "",
      user: textOf(context["user"]) ?? "",
      namespace: textOf(context["namespace"]) ?? "default",
      extensions: namedMembers(context, "extensions", "extension", (extension) => extension),
    })),
  };
}

/** Merges several files: the first entry of a name wins, and the first current context. */
export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  const merged = <T>(maps: readonly ReadonlyMap<string, T>[]) =>
    new Map(maps.toReversed().flatMap((map) => [...map.entries()]));
  return {
    clusters: merged(configs.map(({ clusters }) => clusters)),
    users: merged(configs.map(({ users }) => users)),
    contexts: merged(configs.map(({ contexts }) => contexts)),
    currentContext: configs.find(({ currentContext }) => currentContext !== "")?.currentContext ?? "",
  };
}

export type ResolvedContext = {
  readonly name: string;
  readonly cluster: KubeconfigCluster;
  readonly user: KubeconfigUser;
  readonly namespace: string;
};

/** Resolves a context; by default the current one. A context without a user is anonymous. */
export function resolveContext(config: Kubeconfig, contextName?: string): ResolvedContext {
  const name = contextName ?? config.currentContext;
  if (name === "")
    throw new KubeconfigError(
      "the kubeconfig has no current context: set its current-context, or name one with --context",
    );
  const context = config.contexts.get(name);
  if (context === undefined) throw new KubeconfigError(`the kubeconfig has no context ${JSON.stringify(name)}`);
  const cluster = config.clusters.get(context.cluster);
  if (cluster === undefined || cluster.server === "") {
    throw new KubeconfigError(`context ${JSON.stringify(name)} names no cluster with a server`);
  }
  const user = context.user === "" ? { unsupported: [] } : config.users.get(context.user);
  if (user === undefined)
    throw new KubeconfigError(`context ${JSON.stringify(name)} refers to a user that does not exist`);
  return { name, cluster, user, namespace: context.namespace };
}

/** Far more than any credential plugin needs. */
const MAX_DEPTH = 100;

function readYaml(text: string, origin: string): JsonValue {
  try {
    expectYamlWithinDepth(text, MAX_DEPTH);
    // No aliases, and only JSON tags: a kubeconfig needs neither, and both have been used in attacks. The rest
    // is JSON values.
    return parse(text, { maxAliasCount: 0, schema: "core", prettyErrors: false }) as JsonValue;
  } catch (cause) {
    throw new KubeconfigError(`${origin} is not valid YAML`, { cause });
  }
}

function namedMembers<T>(
  document: JsonObject,
  listName: string,
  memberName: string,
  read: (member: JsonObject) => T,
): ReadonlyMap<string, T> {
  const entries = new Map<string, T>();
  const list = document[listName];
  for (const item of isJsonArray(list) ? list : []) {
    if (!isJsonObject(item)) continue;
    const name = textOf(item["name"]);
    const member = item[memberName];
    if (name !== undefined && !entries.has(name)) entries.set(name, read(isJsonObject(member) ? member : {}));
  }
  return entries;
}

/** A scalar as text; undefined for "" too, which kubeconfigs use for absent. */
function textOf(value: JsonValue | undefined): string | undefined {
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function decodeBase64(data: string, origin: string): string {
  try {
    // `atob` returns one character per byte, and PEM is ASCII.
    return atob(data);
  } catch (cause) {
    throw new KubeconfigError(`${origin} is not base64`, { cause });
  }
}

/** A member that is left out without a value. */
const optional = <Name extends string, T>(name: Name, value: T | undefined): { readonly [_ in Name]?: T } =>
  // TypeScript widens a computed member to an index signature; the name is known here.
  value === undefined ? {} : ({ [name]: value } as { readonly [_ in Name]?: T });
