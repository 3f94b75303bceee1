// The life of an agent: finds its cluster, joins, keeps tunnels open until it is stopped, and drains them.

import { randomInt } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { BUILD_INFO } from "@postern/apimachinery/build-info";
import { createAgentKeys } from "./agent-keys.ts";
import type { AgentLog } from "./agent-log.ts";
import { type AgentStore, createFileStore, createSecretStore } from "./agent-state.ts";
import { createForwarder } from "./forward-requests.ts";
import { createConnections } from "./keep-connected.ts";
import { findOwnCluster, type OwnCluster, type OwnIdentity, readClusterUid, readIssuerKeys } from "./own-cluster.ts";
import { createPlatformRequests } from "./platform-requests.ts";
import { serveProbes } from "./probes.ts";
import { serveTunnel } from "./serve-tunnel.ts";
import { createVersionCheck } from "./server-version.ts";

export type AgentOptions = {
  readonly kubeconfig?: string;
  readonly secret: string;
  readonly stateFile?: string;
  readonly server?: string;
  readonly certificateAuthority?: string;
  readonly joinValue?: string;
  readonly probePort?: number;
  /** File with a token of the agent's ServiceAccount for the platform. */
  readonly identityTokenFile?: string;
};

export type AgentDeps = {
  readonly environment: { readonly [name: string]: string | undefined };
  readonly log: AgentLog;
  /** Aborted when the agent is to stop. */
  readonly signal: AbortSignal;
};

const ROTATE_CHECK_MS = 60 * 60_000;
const START_RETRY_MS = 5_000;

/** Resolves when everything is closed. Rejects with an error of the options, or of the first state. */
export async function runAgent(options: AgentOptions, { environment, log, signal }: AgentDeps): Promise<void> {
  const cluster = await findOwnCluster(environment, options.kubeconfig, options.identityTokenFile);
  const store = await openStore(options, cluster, log, signal);
  const first = await store.read();
  const { server } = first;
  let authority = first["ca.crt"];
  if (server === undefined) throw new Error("the address of the platform is not known: use --platform or join again");
  const agent = {
    id: environment["POD_NAME"] ?? `${hostname()}-${process.pid}`,
    version: BUILD_INFO.version,
    clusterUid: await untilDone(() => readClusterUid(cluster, signal), "its API server", log, signal),
  };
  const address = {
    server,
    environment,
    get certificateAuthority() {
      return authority;
    },
  };
  const requests = createPlatformRequests(address, agent);
  const onAuthority = (pem: string): void => {
    authority = pem;
  };
  const identity = () => identityOf(cluster, log, signal);
  const keys = createAgentKeys({ store, requests, identity, log, now: Date.now, signal, onAuthority });
  const checkVersion = createVersionCheck(agent.version, log);
  const forwarder = createForwarder(cluster);
  const rotate = (options: { readonly isWanted: boolean }): void => {
    keys.rotate(options, signal).then(
      (isAnother) => isAnother && connections.wake(),
      (error: Error) => log.warn("the key was not replaced", { reason: error.message }),
    );
  };
  const connections = createConnections({
    requests,
    key: (options) => keys.current(options),
    serve({ socket, serverVersion }) {
      checkVersion(serverVersion);
      return serveTunnel(socket, { serve: forwarder.serve, onRotate: () => rotate({ isWanted: true }) });
    },
    drain: () => forwarder.drain(),
    log,
    random: () => randomInt(1 << 20) / (1 << 20),
  });
  const probes =
    options.probePort === undefined
      ? undefined
      : await serveProbes({
          ...{ port: options.probePort, connections, counts: forwarder.counts },
          isStopping: () => signal.aborted,
        });
  const checking = setInterval(() => rotate({ isWanted: false }), ROTATE_CHECK_MS);
  log.info("agent started", { version: agent.version, platform: server });
  try {
    await connections.run(signal);
  } finally {
    clearInterval(checking);
    forwarder[Symbol.dispose]();
    probes?.close();
    log.info("agent stopped");
  }
}

async function openStore(
  { stateFile, secret, server, certificateAuthority, joinValue }: AgentOptions,
  cluster: OwnCluster,
  log: AgentLog,
  signal: AbortSignal,
): Promise<AgentStore> {
  const store = stateFile === undefined ? createSecretStore(cluster, secret) : createFileStore(stateFile);
  const state = await untilDone(() => store.read(), "its state", log, signal);
  const given = {
    ...(server === undefined ? {} : { server }),
    ...(certificateAuthority === undefined ? {} : { "ca.crt": certificateAuthority }),
    // The key of an earlier join is for another Cluster, or was revoked.
    ...(joinValue === undefined || joinValue === state.join ? {} : { join: joinValue, key: undefined }),
  };
  if (Object.keys(given).length > 0) await store.write(given);
  return store;
}

/** Undefined where the agent has no token for the platform. */
async function identityOf(cluster: OwnCluster, log: AgentLog, signal: AbortSignal): Promise<OwnIdentity | undefined> {
  const token = await cluster.identityToken();
  if (token === undefined) return undefined;
  try {
    return { token, jwks: await readIssuerKeys(cluster, signal) };
  } catch (error) {
    signal.throwIfAborted();
    log.warn("the keys of the cluster's issuer cannot be read", {
      reason: error instanceof Error ? error.message : "",
    });
    return { token, jwks: undefined };
  }
}

/** The API server may start later than the agent. */
async function untilDone<T>(work: () => Promise<T>, what: string, log: AgentLog, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      log.warn(`${what} cannot be read`, { reason: error instanceof Error ? error.message : String(error) });
      await sleep(START_RETRY_MS, undefined, { signal });
    }
  }
}
