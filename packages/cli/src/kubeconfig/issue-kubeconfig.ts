// Asks the platform for the kubeconfig of one virtual cluster. Private keys are made here and never leave this machine.

import { generateKeyPairSync } from "node:crypto";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { ApiClient } from "@postern/client/api-client";
import type { KubeconfigEntry } from "@postern/client/kubeconfig-file";
import { createResourceClient } from "@postern/client/resource-client";
import { parse } from "yaml";
import { listAt, objectAt, textAt } from "../json-members.ts";
import { explainNotFound, type VirtualClusterPlace } from "./explain-not-found.ts";

/** What may be asked for; absent members are the server's to decide. */
export type KubeconfigOptions = {
  readonly ttlSeconds?: number | undefined;
  readonly clusterServer?: string | undefined;
  readonly contextName?: string | undefined;
  readonly clientCert?: boolean | undefined;
  readonly readOnly?: boolean | undefined;
};

export type IssuedKubeconfig = {
  readonly entry: KubeconfigEntry;
  /** RFC 3339; undefined where the credential does not expire. */
  readonly expires: string | undefined;
};

/** A kubeconfig with a new credential in it. */
export async function issueKubeconfig(
  client: ApiClient,
  place: VirtualClusterPlace,
  wishes: KubeconfigOptions,
): Promise<IssuedKubeconfig> {
  if (wishes.clientCert !== true) return issuedKubeconfig(await ask(client, place, wishes, {}));
  const subject = objectAt(await ask(client, place, wishes, { dryRun: true }), "certificateSubject");
  // The platform's code is loaded for this alone: the other commands start without it.
  const { createCertificateRequest } = await import("@postern/platform/pki/certificate-request");
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const certificateSigningRequest = createCertificateRequest(
    privateKey,
    { commonName: textAt(subject, "commonName"), organizations: listAt(subject, "organizations").map(String) },
    publicKey,
  );
  const { entry, expires } = issuedKubeconfig(await ask(client, place, wishes, { certificateSigningRequest }));
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const key = { "client-key-data": Buffer.from(pem).toString("base64") };
  return { entry: { ...entry, user: { ...entry.user, ...key } }, expires };
}

/** Server, authority and names, without a credential: nothing is issued. */
export const describeKubeconfig = async (
  client: ApiClient,
  place: VirtualClusterPlace,
  wishes: KubeconfigOptions,
): Promise<KubeconfigEntry> => issuedKubeconfig(await ask(client, place, wishes, { dryRun: true })).entry;

/** The answer's status. */
async function ask(
  client: ApiClient,
  place: VirtualClusterPlace,
  { ttlSeconds, clusterServer, contextName, clientCert, readOnly }: KubeconfigOptions,
  { dryRun, certificateSigningRequest }: { readonly dryRun?: boolean; readonly certificateSigningRequest?: string },
): Promise<JsonObject> {
  const { group, namespacePrefix, project, virtualCluster } = place;
  const address = {
    group,
    version: "v1",
    resource: "virtualclusterinstances",
    namespace: `${namespacePrefix}${project}`,
  };
  const body = {
    apiVersion: `${group}/v1`,
    kind: "VirtualClusterInstanceKubeConfig",
    metadata: {},
    spec: {
      certificateTTL: ttlSeconds,
      server: clusterServer,
      clientCert: clientCert === true ? true : undefined,
      contextName,
      role: readOnly === true ? "view" : undefined,
      certificateSigningRequest,
    },
  };
  const instances = createResourceClient(client, address);
  const options = dryRun === true ? { dryRun: true } : {};
  const reply = await explainNotFound(client, place, () =>
    instances.createSubresource(virtualCluster, "kubeconfig", body, options),
  );
  return objectAt(reply, "status");
}

/** Throws Error for an answer that is no kubeconfig of one context: a server of ours sends none. */
function issuedKubeconfig({ kubeConfig, expirationTimestamp }: JsonObject): IssuedKubeconfig {
  const config = parse(String(kubeConfig), { maxAliasCount: 0, schema: "core" }) as JsonValue;
  const member = (list: string, name: string): JsonObject => {
    const items = isJsonObject(config) ? config[list] : undefined;
    const [first] = isJsonArray(items) ? items : [];
    return objectAt(first, name);
  };
  const name = isJsonObject(config) ? config["current-context"] : undefined;
  const cluster = member("clusters", "cluster");
  if (typeof name !== "string" || typeof cluster["server"] !== "string") {
    throw new Error("the server sent no kubeconfig");
  }
  const { cluster: _cluster, user: _user, ...context } = member("contexts", "context");
  return {
    entry: { name, cluster, user: member("users", "user"), context },
    expires: typeof expirationTimestamp === "string" ? expirationTimestamp : undefined,
  };
}
