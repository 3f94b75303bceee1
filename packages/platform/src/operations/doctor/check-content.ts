// Checks a store that no server has open: whether the server key decrypts it, and whether connected clusters respond.

import type { Cluster } from "@postern/api/cluster";
import { MANAGEMENT } from "@postern/api/platform-names";
import type { User } from "@postern/api/user";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { createResourceKeys } from "@postern/apiserver/cache/resource-keys";
import { createNodeTransport } from "@postern/client/transport/node";
import { kubeconfigIn } from "../../features/virtual-clusters/kubernetes-backend/cluster-source.ts";
import { targetOfKubeconfig } from "../../features/virtual-clusters/kubernetes-backend/kubeconfig-target.ts";
import type { Configuration } from "../../foundation/config/configuration.ts";
import { ConfigurationError } from "../../foundation/config/configuration-error.ts";
import type { UpstreamTarget } from "../../foundation/upstream/upstream-target.ts";
import { openStoppedServer, type StoppedServer } from "../stopped-server.ts";
import { checkNames } from "./check-names.ts";
import { clockFinding } from "./clock.ts";
import { type Finding, fault, ok, skipped, warning } from "./finding.ts";

const TIMEOUT_MS = 10_000;

export async function checkContent(configuration: Configuration): Promise<readonly Finding[]> {
  let server: StoppedServer;
  try {
    server = await openStoppedServer(configuration);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return [fault("key ring", error.message, "restore your separate copy of the server key")];
  }
  await using stopped = server;
  const clusters = connectedClusters(stopped);
  const tunnelled = tunnelledClusters(stopped);
  return [
    ok("key ring", "the server key decrypts the key ring in the store"),
    ...checkNames(storedUsers(stopped), configuration),
    ...(clusters.length + tunnelled.length === 0 ? [skipped("clusters", "no cluster is connected")] : []),
    ...(await Promise.all(clusters.map((cluster) => checkCluster(cluster, stopped)))).flat(),
    ...tunnelled.map((cluster) => checkAgent(cluster, stopped)),
  ];
}

function* storedUsers({ base }: StoppedServer): Iterable<User> {
  const { view, prefix } = base.objects("users");
  // Stored objects have gone through the schema of their kind.
  for (const object of view.list(prefix)) yield object.decode() as User;
}

function connectedClusters({ base }: StoppedServer): readonly Cluster[] {
  const { view, prefix } = base.objects("clusters");
  // Stored objects have gone through the schema of their kind.
  const clusters = view.list(prefix).map((object) => object.decode() as Cluster);
  return clusters.filter(({ spec }) => spec?.local !== true && spec?.networkPeer !== true);
}

function tunnelledClusters({ base }: StoppedServer): readonly Cluster[] {
  const { view, prefix } = base.objects("clusters");
  const clusters = view.list(prefix).map((object) => object.decode() as Cluster);
  return clusters.filter(({ spec }) => spec?.networkPeer === true);
}

/** Whether its agent is connected, only a server that runs can tell. */
function checkAgent({ metadata: { name = "", uid = "" } }: Cluster, { base }: StoppedServer): Finding {
  const { view, prefix } = base.records("cluster-agents");
  const check = `cluster ${name}`;
  return view.get(prefix + uid) === undefined
    ? warning(check, "no agent has joined", `postern cluster join ${name}`)
    : skipped(check, "its agent connects it while the server runs: postern cluster list");
}

async function checkCluster(cluster: Cluster, stopped: StoppedServer): Promise<readonly Finding[]> {
  const { name = "" } = cluster.metadata;
  const check = `cluster ${name}`;
  const { kubeConfigRef, managementNamespace = "" } = cluster.spec ?? {};
  const { secretNamespace = managementNamespace, secretName = "", key } = kubeConfigRef ?? {};
  const place = `${secretNamespace}/${secretName}`;
  const remedy = `correct the kubeconfig in the Secret ${place}`;
  try {
    const target = targetOfKubeconfig(kubeconfigIn(secretAt(stopped, secretNamespace, secretName), key, place));
    return await askCluster(check, target, remedy);
  } catch (error) {
    if (!isApiError(error)) throw error;
    return [fault(check, error.message, secretName === "" ? "set spec.kubeConfigRef of the cluster" : remedy)];
  }
}

function secretAt({ base: { cache } }: StoppedServer, namespace: string, name: string): KubeObject | undefined {
  const keys = createResourceKeys(MANAGEMENT, { group: "", resource: "secrets", namespaced: true });
  return cache.view(keys.prefix).get(keys.of(namespace, name))?.decode();
}

async function askCluster(check: string, target: UpstreamTarget, remedy: string): Promise<readonly Finding[]> {
  const { credential, ...connection } = target;
  const { bearerToken, clientCertificate } = credential;
  await using transport = createNodeTransport({
    ...connection,
    ...(clientCertificate === undefined
      ? {}
      : {
          clientCertificatePem: clientCertificate.certificatePem,
          clientKeyPem: clientCertificate.privateKeyPem,
        }),
  });
  try {
    const sentAt = Date.now();
    const { status, header } = await transport.send({
      method: "GET",
      path: "/readyz",
      headers: bearerToken === undefined ? {} : { authorization: `Bearer ${bearerToken}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const date = Date.parse(header("date") ?? "");
    const offset = Number.isNaN(date) ? undefined : date + 500 - (sentAt + Date.now()) / 2;
    return [answerFinding(check, target.server, status, remedy), ...clockFinding(check, offset)];
  } catch (error) {
    const why =
      error instanceof Error ? (error.cause instanceof Error ? error.cause.message : error.message) : "no answer";
    return [
      fault(
        check,
        `${target.server} cannot be reached: ${why}`,
        `check that it runs and can be reached from here, or ${remedy}`,
      ),
    ];
  }
}

function answerFinding(check: string, server: string, status: number, remedy: string): Finding {
  if (status === 401) return fault(check, `${server} refuses the credential of its kubeconfig`, remedy);
  // Whether it may be asked is for the cluster to say; that it answers is known then.
  if (status < 400 || status === 403) return ok(check, `${server} answers`);
  return warning(check, `${server} answers its readiness check with code ${status}`, "check that cluster");
}
