// Requests the kubeconfig of a virtual cluster. Private keys are created here and never leave this machine.

import { generateKeyPairSync } from "node:crypto";
import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { ApiClient } from "@postern/client/api-client";
import type { KubeconfigEntry } from "@postern/client/kubeconfig-file";
import { createResourceClient, type WriteOptions } from "@postern/client/resource-client";
import { parse } from "yaml";
import type { FoundConnection } from "../login/platform-choice.ts";
import { listAt, objectAt, textAt } from "../output/json-members.ts";
import { UsageError } from "../usage-error.ts";
import { explainNotFound, type VirtualClusterPlace } from "./explain-not-found.ts";

/** Where the kubeconfig of a connected or external virtual cluster leads. */
export const KUBECONFIG_WAYS = ["Platform", "Cluster"] as const;
export type KubeconfigWay = (typeof KUBECONFIG_WAYS)[number];

/** Fields of the request; the server decides absent ones. */
export type KubeconfigOptions = {
  readonly ttlSeconds?: number | undefined;
  readonly clusterServer?: string | undefined;
  readonly endpoint?: KubeconfigWay | "Both" | undefined;
  readonly contextName?: string | undefined;
  readonly clientCert?: boolean | undefined;
  readonly readOnly?: boolean | undefined;
};

export type IssuedKubeconfig = {
  readonly entry: KubeconfigEntry;
  /** RFC 3339; undefined if the credential does not expire. */
  readonly expires: string | undefined;
};

/** A kubeconfig with a new credential. */
export async function issueKubeconfig(
  client: ApiClient,
  place: VirtualClusterPlace,
  options: KubeconfigOptions,
): Promise<IssuedKubeconfig> {
  if (options.clientCert !== true)
    return issuedKubeconfig(await ask(client, place, options, {}), nameOf(place, options));
  const subject = objectAt(await ask(client, place, options, { dryRun: true }), "certificateSubject");
  // Loads the platform's code only here: the other commands start without it.
  const { createCertificateRequest } = await import("@postern/platform/foundation/pki/certificate-request");
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const certificateSigningRequest = createCertificateRequest(
    privateKey,
    { commonName: textAt(subject, "commonName"), organizations: listAt(subject, "organizations").map(String) },
    publicKey,
  );
  const { entry, expires } = issuedKubeconfig(
    await ask(client, place, options, { certificateSigningRequest }),
    nameOf(place, options),
  );
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const key = { "client-key-data": Buffer.from(pem).toString("base64") };
  return { entry: { ...entry, user: { ...entry.user, ...key } }, expires };
}

/**
 * The requests for a kubeconfig with a context for each way: each has a credential of its own, whose private key stays here. One where the virtual
 * cluster runs in the platform: there is no other way to it.
 */
export async function contextsOf(
  client: ApiClient,
  place: VirtualClusterPlace,
  options: KubeconfigOptions,
): Promise<readonly (KubeconfigOptions & { readonly endpoint?: KubeconfigWay | undefined })[]> {
  const { endpoint, ...others } = options;
  if (endpoint !== "Both") return [{ ...others, endpoint }];
  const { kubeConfig } = await ask(client, place, options, { dryRun: true });
  if (listAt(parsed(kubeConfig), "contexts").length < 2) return [others];
  const contextName = `${nameOf(place, options)}-direct`;
  return [
    { ...others, endpoint: "Platform" },
    { ...others, endpoint: "Cluster", contextName },
  ];
}

/** Server, CA and names, without a credential: nothing is issued. */
export const describeKubeconfig = async (
  client: ApiClient,
  place: VirtualClusterPlace,
  options: KubeconfigOptions,
): Promise<KubeconfigEntry> =>
  issuedKubeconfig(await ask(client, place, options, { dryRun: true }), nameOf(place, options)).entry;

/** A token that is made with a key which signs each request needs such proofs as well, and kubectl signs none. Its certificate proves itself. */
export const needsCertificate = (
  asked: boolean | undefined,
  { keyPair }: Pick<FoundConnection, "keyPair">,
): boolean | undefined => (keyPair === undefined ? asked : true);

/** Whether the platform sees an access key and a client certificate. */
export const isProven = ({ transport, token }: ProvenConnection): boolean =>
  token !== undefined && transport.clientCertificatePem !== undefined && transport.clientKeyPem !== undefined;

/** A token that is made with a bound key is bound to the client certificate of the connection as well. */
export function withProof(
  user: KubeconfigEntry["user"],
  { transport, token }: ProvenConnection,
): KubeconfigEntry["user"] {
  const { clientCertificatePem: certificate, clientKeyPem: key } = transport;
  if (user["token"] === undefined || token === undefined || certificate === undefined || key === undefined) return user;
  const data = (pem: string): string => Buffer.from(pem).toString("base64");
  return { ...user, "client-certificate-data": data(certificate), "client-key-data": data(key) };
}

type ProvenConnection = {
  readonly transport: { readonly clientCertificatePem?: string; readonly clientKeyPem?: string };
  readonly token?: string;
};

/** The status of the response, without a kubeconfig: with a value that reads it once. */
export const wrapKubeconfig = (
  client: ApiClient,
  place: VirtualClusterPlace,
  options: KubeconfigOptions,
  wrap: Pick<WriteOptions, "query">,
): Promise<JsonObject> => ask(client, place, options, wrap);

/** Another name could replace what the user has of another cluster. */
const nameOf = ({ project, virtualCluster }: VirtualClusterPlace, { contextName }: KubeconfigOptions): string =>
  contextName ?? `${project}-${virtualCluster}`;

/** The status of the response. */
async function ask(
  client: ApiClient,
  place: VirtualClusterPlace,
  { ttlSeconds, clusterServer, endpoint, contextName, clientCert, readOnly }: KubeconfigOptions,
  {
    certificateSigningRequest,
    ...write
  }: Pick<WriteOptions, "dryRun" | "query"> & { readonly certificateSigningRequest?: string },
): Promise<JsonObject> {
  const { group, namespacePrefix, project, virtualCluster } = place;
  const address = {
    group,
    version: "v1",
    resource: "virtualclusterinstances",
    namespace: `${namespacePrefix}${project}`,
  };
  const body = {
    kind: "VirtualClusterInstanceKubeConfig",
    spec: {
      certificateTTL: ttlSeconds,
      server: clusterServer,
      endpoint,
      clientCert: clientCert === true ? true : undefined,
      contextName,
      role: readOnly === true ? "view" : undefined,
      certificateSigningRequest,
    },
  };
  const instances = createResourceClient(client, address);
  const reply = await explainNotFound(client, place, () =>
    instances.createSubresource(virtualCluster, "kubeconfig", body, write),
  );
  return objectAt(reply, "status");
}

/** Members that the server may write into a kubeconfig: for others, such as `exec` and `tokenFile`, kubectl runs programs and reads files of this machine. */
const MEMBERS = {
  cluster: ["server", "certificate-authority-data", "insecure-skip-tls-verify", "tls-server-name"],
  user: ["token", "client-certificate-data", "client-key-data"],
  context: ["cluster", "user", "namespace"],
} as const;

const parsed = (kubeConfig: JsonValue | undefined): JsonObject => {
  const config = parse(String(kubeConfig), { maxAliasCount: 0, schema: "core" }) as JsonValue;
  return isJsonObject(config) ? config : {};
};

/** Throws Error unless the response is a kubeconfig with one context of that name, as our servers send. */
function issuedKubeconfig({ kubeConfig, expirationTimestamp }: JsonObject, name: string): IssuedKubeconfig {
  const config = parsed(kubeConfig);
  const member = (list: string, kind: keyof typeof MEMBERS): JsonObject => {
    const [first] = listAt(config, list);
    const found = objectAt(first, kind);
    const known: readonly string[] = MEMBERS[kind];
    const other = Object.keys(found).find((key) => !known.includes(key));
    if (other !== undefined)
      throw new UsageError(`refused the kubeconfig of the server: it has ${other} for the ${kind}`);
    return found;
  };
  const cluster = member("clusters", "cluster");
  const current = config["current-context"];
  if (typeof current !== "string" || typeof cluster["server"] !== "string") {
    throw new Error("the server sent no kubeconfig");
  }
  if (current !== name) throw new UsageError(`refused the kubeconfig of the server: its context is not ${name}`);
  const { cluster: _cluster, user: _user, ...context } = member("contexts", "context");
  return {
    entry: { name, cluster, user: member("users", "user"), context },
    expires: typeof expirationTimestamp === "string" ? expirationTimestamp : undefined,
  };
}
