// The cluster that the caller of a credential plugin names in KUBERNETES_EXEC_INFO, and whether it may have a credential for it.
// Source: k8s.io/client-go/pkg/apis/clientauthentication/v1/types.go (ExecCredentialSpec, Cluster)

import type { ExecExtension } from "@postern/api/cluster-profile";
import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { objectAt } from "../output/json-members.ts";
import { UsageError } from "../usage-error.ts";

const GROUP = "client.authentication.k8s.io";
/** The answer has the same fields in each. */
const VERSIONS: readonly string[] = [`${GROUP}/v1`, `${GROUP}/v1beta1`];

export const EXEC_INFO = "KUBERNETES_EXEC_INFO";

export type ExecInfo = {
  /** The version of the answer that the caller expects. */
  readonly apiVersion: string;
  /** Where the caller sends the credential. Absent unless the plugin has provideClusterInfo. */
  readonly cluster: JsonObject | undefined;
};

/** Undefined when a person runs the command. Throws UsageError. */
export function readExecInfo(text: string | undefined): ExecInfo | undefined {
  if (text === undefined || text === "") return undefined;
  let info: JsonValue;
  try {
    info = JSON.parse(text);
  } catch {
    throw new UsageError(`${EXEC_INFO} is not JSON`);
  }
  const apiVersion = isJsonObject(info) ? info["apiVersion"] : undefined;
  if (!isJsonObject(info) || typeof apiVersion !== "string") throw new UsageError(`${EXEC_INFO} has no apiVersion`);
  if (!VERSIONS.includes(apiVersion))
    throw new UsageError(
      `the kubeconfig requires ${apiVersion}, and only ${VERSIONS.join(" and ")} are supported: create it again`,
    );
  const { cluster } = objectAt(info, "spec");
  return { apiVersion, cluster: isJsonObject(cluster) ? cluster : undefined };
}

/** Namespaces and names of objects: nothing else goes into a path. */
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/** The virtual cluster of a ClusterProfile, which the plugin gets in the configuration of the cluster. Throws UsageError. */
export function clusterInExecInfo(info: ExecInfo | undefined): ExecExtension {
  if (info === undefined)
    throw new UsageError(
      `name a virtual cluster: the program that started the plugin passes no cluster in ${EXEC_INFO}, which is needed to leave the name out`,
    );
  if (info.cluster === undefined)
    throw new UsageError(
      `${EXEC_INFO} has no cluster: set provideClusterInfo: true where the plugin is configured, or name the virtual cluster in its arguments`,
    );
  const { project, namespace, virtualCluster } = objectAt(info.cluster, "config");
  const names = [project, namespace, virtualCluster];
  const isNamed = (name: JsonValue | undefined): name is string => typeof name === "string" && NAME.test(name);
  if (!isNamed(project) || !isNamed(namespace) || !isNamed(virtualCluster))
    throw new UsageError(
      names.every((name) => name === undefined)
        ? `the cluster in ${EXEC_INFO} has no configuration for Postern: its ClusterProfile needs the extension client.authentication.k8s.io/exec, as Postern serves it`
        : `the configuration of the cluster in ${EXEC_INFO} names no virtual cluster: it needs project, namespace and virtualCluster`,
    );
  if (!namespace.endsWith(project))
    throw new UsageError(
      `the configuration of the cluster in ${EXEC_INFO} has the namespace ${namespace}, which is not that of the project ${project}`,
    );
  return { project, namespace, virtualCluster };
}

/**
 * A ClusterProfile may be a copy that others write. Its reader gets the credential only for the server that the platform names, verified as the platform
 * says. Throws UsageError.
 */
export function checkDestination(
  asked: JsonObject,
  issued: JsonObject,
  /** PEM: the CA by which the platform itself was verified. */
  ownAuthority: string | undefined,
): void {
  const expected = textIn(issued, "server");
  const refuse = (why: string): never => {
    throw new UsageError(`refused a credential for ${expected}: ${why}`);
  };
  for (const member of TEXTS)
    if (asked[member] !== undefined && typeof asked[member] !== "string") refuse(`${member} is no text`);
  const server = textIn(asked, "server");
  // As texts: programs read other forms of an address each in their own way.
  if (server === "" || withoutSlash(server) !== withoutSlash(expected))
    refuse(`the cluster in ${EXEC_INFO} has another server, ${server === "" ? "none" : server}`);
  if ((asked["insecure-skip-tls-verify"] ?? false) !== false && issued["insecure-skip-tls-verify"] !== true)
    refuse("insecure-skip-tls-verify is set, so that any server could take it");
  const name = textIn(asked, "tls-server-name");
  if (name !== "" && name !== new URL(expected).hostname && name !== textIn(issued, "tls-server-name"))
    refuse(`the server would be verified by another name, ${name}`);
  if (textIn(asked, "proxy-url") !== "" && new URL(expected).protocol !== "https:")
    refuse("a proxy would read it, for the server has no TLS");
  const trusted = certificatesIn(pemIn(issued) ?? ownAuthority ?? "");
  const authorities = pemIn(asked) ?? "";
  if ([...certificatesIn(authorities)].some((certificate) => !trusted.has(certificate)))
    refuse("certificate-authority-data has a CA that the platform does not name");
  if (!isPlain(authorities, textIn(asked, "certificate-authority-data")))
    refuse("certificate-authority-data is not plain PEM, and programs read other forms differently");
}

const TEXTS = ["server", "tls-server-name", "proxy-url", "certificate-authority-data"];

const textIn = (object: JsonObject, member: string): string => {
  const value = object[member];
  return typeof value === "string" ? value : "";
};

const withoutSlash = (server: string): string => server.replace(/\/$/, "");

const pemIn = (cluster: JsonObject): string | undefined => {
  const data = textIn(cluster, "certificate-authority-data");
  return data === "" ? undefined : Buffer.from(data, "base64").toString();
};

const CERTIFICATE = /-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----/g;

const certificatesIn = (pem: string): ReadonlySet<string> =>
  new Set([...pem.matchAll(CERTIFICATE)].map(([, body = ""]) => body.replace(/\s/g, "")));

/**
 * Whether every program reads the same certificates in it. OpenSSL also reads `TRUSTED CERTIFICATE` and bodies that end with a minus, and decoders differ on
 * base64 with more behind its padding.
 */
const isPlain = (pem: string, data: string): boolean =>
  !pem.replaceAll(CERTIFICATE, "\n").includes("-----BEGIN") &&
  Buffer.from(pem).toString("base64") === data.replace(/\s/g, "");
