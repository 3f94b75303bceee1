// Checks a server running on the data directory, with the administrator's kubeconfig.

import { join } from "node:path";
import type { User } from "@postern/api/user";
import { isJsonArray, isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { type ApiClient, createApiClient } from "@postern/client/api-client";
import { KubeconfigError } from "@postern/client/kubeconfig";
import { loadConnection } from "@postern/client/load-kubeconfig";
import { createResourceClient, listAll } from "@postern/client/resource-client";
import { createNodeTransport } from "@postern/client/transport/node";
import { pathOf } from "../../bootstrap/admin-kubeconfig.ts";
import type { Configuration } from "../../foundation/config/configuration.ts";
import { ConfigurationError } from "../../foundation/config/configuration-error.ts";
import { exists } from "../../foundation/pki/private-file.ts";
import { LOCK_FILE, lockDataDirectory } from "../../server/lock-data-directory.ts";
import { checkNames } from "./check-names.ts";
import { NODE_CHECK } from "./check-options.ts";
import { THREADS_CHECK } from "./check-threads.ts";
import { type Finding, fault, ok, skipped, warning } from "./finding.ts";

const TIMEOUT_MS = 10_000;
/** Kinds of the management API that are reached beyond this process. */
const REACHED = ["clusters", "virtualclusterinstances", "spaceinstances"];
/** Nothing is wrong with what sleeps. */
const FINE: readonly unknown[] = ["Ready", "Sleeping", undefined, ""];

export async function isServerRunning({ dataDir }: Configuration): Promise<boolean> {
  if (!(await exists(join(dataDir, LOCK_FILE)))) return false;
  try {
    lockDataDirectory({ dataDir })[Symbol.dispose]();
    return false;
  } catch (error) {
    if (error instanceof ConfigurationError) return true;
    throw error;
  }
}

export async function checkServer(configuration: Configuration): Promise<readonly Finding[]> {
  const path = pathOf(configuration);
  if (!(await exists(path))) {
    const message = `a server is running, but ${path}, which is needed to connect to it, does not exist`;
    return [skipped("server", message, "check /readyz?verbose of the server, and its metrics")];
  }
  try {
    const { transport: options, token } = await loadConnection({ path, environment: {} });
    await using transport = createNodeTransport(options);
    const client = createApiClient({ transport, ...(token === undefined ? {} : { token }) });
    const ready = await readiness(client, options.server);
    if (ready.status !== "ok") return [ready];
    return [
      ready,
      ...(await ownFindings(client)),
      ...(await checkReached(client, configuration)),
      ...(await checkUsers(client, configuration)),
    ];
  } catch (error) {
    if (error instanceof KubeconfigError) return [fault("server", error.message, `repair ${path}`)];
    const why = error instanceof Error ? error.message : String(error);
    const remedy = "check its log, its address and its certificate";
    return [fault("server", `a server is running, but cannot be reached with its kubeconfig: ${why}`, remedy)];
  }
}

async function readiness(client: ApiClient, server: string): Promise<Finding> {
  try {
    const { body } = await client.stream({ method: "GET", path: "/readyz", accept: "*/*", signal: deadline() });
    for await (const _ of body);
    return ok("server", `the server at ${server} is ready`);
  } catch (error) {
    if (!isApiError(error) || error.code === 401) throw error;
    return fault("server", `the server at ${server} is not ready`, "check its /readyz?verbose and its log");
  }
}

/** The server alone knows these: threads begin and end under load, and its Node may not be that of this command. */
const OF_SERVER: readonly unknown[] = [THREADS_CHECK, NODE_CHECK];

async function ownFindings(client: ApiClient): Promise<readonly Finding[]> {
  const asked = client.request({ method: "GET", path: "/doctor", signal: deadline() });
  // A server of an earlier release answers otherwise.
  const answer = await asked.catch(() => undefined);
  const findings = isJsonObject(answer) ? answer["findings"] : undefined;
  return (isJsonArray(findings) ? findings : [])
    .filter(isJsonObject)
    .filter(({ check }) => OF_SERVER.includes(check))
    .flatMap(({ check, message, remedy }) => {
      if (typeof check !== "string" || typeof message !== "string") return [];
      return [typeof remedy === "string" ? warning(check, message, remedy) : ok(check, message)];
    });
}

/** Findings of the server's controllers about all that others run. */
async function checkReached(client: ApiClient, { platform }: Configuration): Promise<readonly Finding[]> {
  const findings = await Promise.all(
    REACHED.map(async (resource) => {
      const path = `/apis/management.${platform.domain}/v1/${resource}`;
      const list = await client.request({ method: "GET", path, signal: deadline() });
      const items = isJsonObject(list) ? list["items"] : undefined;
      return (isJsonArray(items) ? items : []).filter(isJsonObject).flatMap((item) => phaseFinding(resource, item));
    }),
  );
  const all = findings.flat();
  return all.length > 0 ? all : [ok("clusters", "the server can reach all its dependencies")];
}

async function checkUsers(client: ApiClient, configuration: Configuration): Promise<readonly Finding[]> {
  if (configuration.frontProxy.clientCAFile === "") return [];
  const group = `management.${configuration.platform.domain}`;
  const users = createResourceClient<User>(client, { group, version: "v1", resource: "users" });
  const { items } = await listAll(users, { signal: deadline() });
  return checkNames(items, configuration);
}

function phaseFinding(resource: string, item: JsonObject): readonly Finding[] {
  const [metadata, status] = [item["metadata"], item["status"]].map((each) => (isJsonObject(each) ? each : {}));
  const { phase, reason = "", message = "" } = status ?? {};
  // An object that has just been created has no reason yet.
  if (FINE.includes(phase) || reason === "") return [];
  const { namespace, name } = metadata ?? {};
  const check = `${resource.replace(/s$/, "")} ${namespace === undefined ? "" : `${String(namespace)}/`}${String(name)}`;
  return [
    warning(check, `${String(phase)}: ${String(reason)} ${String(message)}`.trim(), "fix what the message names"),
  ];
}

const deadline = (): AbortSignal => AbortSignal.timeout(TIMEOUT_MS);
