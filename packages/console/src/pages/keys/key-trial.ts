// One request that a new key is made for: as a command, and as the page sends it with the value of the key.

import type { KeyScope } from "@postern/api/access-key-scope";
import { managementVersion } from "../../api/resources.ts";
import { quoted } from "../../format/shell.ts";
import { namespaceOf } from "../../settings.ts";

/** `body` in JSON, of a POST; undefined for a GET. */
export type KeyTrial = {
  readonly path: string;
  readonly body?: string;
  /** The virtual cluster that it gets a kubeconfig for. */
  readonly cluster?: { readonly project: string; readonly name: string };
};

/** The TTL of the kubeconfig of a trial: the shortest that the server accepts. */
const TRIAL_SECONDS = 600;

/** A kubeconfig for the only virtual cluster of the scope; else the virtual clusters that the key can see. */
export function trialOf(scope: KeyScope | undefined): KeyTrial {
  const { virtualClusters = [], projects, spaces, clusters, roles } = scope ?? {};
  const [only, ...others] = virtualClusters;
  const { project = "", virtualCluster: name = "", selector } = only ?? {};
  const isNamed = name !== "" && name !== "*" && selector === undefined;
  if (isNamed && others.length === 0) {
    const path = `/apis/${managementVersion}/namespaces/${namespaceOf(project)}/virtualclusterinstances/${name}/kubeconfig`;
    return {
      path,
      body: JSON.stringify({ spec: { certificateTTL: TRIAL_SECONDS } }),
      cluster: { project, name },
    };
  }
  const reachesClusters = scope === undefined || virtualClusters.length + (projects?.length ?? 0) > 0;
  if (reachesClusters) return { path: `/apis/${managementVersion}/virtualclusterinstances?limit=10` };
  const reachesOthers = (spaces?.length ?? 0) + (clusters?.length ?? 0) + (roles?.length ?? 0) > 0;
  return reachesOthers
    ? { path: "/version" }
    : { path: "/apis/authentication.k8s.io/v1/selfsubjectreviews", body: "{}" };
}

/** For a shell with the value in `<name>.key`, and the CA of the server in `ca.crt` if it has one of its own. */
export function commandsOf(trial: KeyTrial, name: string, origin: string, hasAuthority: boolean): string {
  const { path, body, cluster } = trial;
  const file = quoted(`${name}.key`);
  const curl = [
    `curl ${hasAuthority ? "--cacert ca.crt " : ""}--header "Authorization: Bearer $(cat ${file})"`,
    ...(body === undefined ? [] : [`--header 'Content-Type: application/json' --data ${quoted(body)}`]),
    quoted(`${origin}${path}`),
  ].join(" \\\n  ");
  const login = `postern login ${origin} ${hasAuthority ? "--ca ca.crt " : ""}< ${file}`;
  if (cluster === undefined) return `${curl}\n${login}`;
  const kubeconfig = quoted(`${cluster.project}-${cluster.name}.kubeconfig`);
  return [
    curl,
    login,
    `postern kubeconfig ${cluster.name} --project ${cluster.project} --out ${kubeconfig}`,
    `kubectl --kubeconfig ${kubeconfig} get namespaces`,
  ].join("\n");
}

/** `text`: the kubeconfig, or the answer in JSON. */
export type TrialAnswer = { readonly status: number; readonly text: string; readonly isKubeconfig: boolean };

/** With the value alone, as a program would: not with the session of the page. Rejects without an answer in JSON. */
export async function sendTrial({ path, body }: KeyTrial, value: string): Promise<TrialAnswer> {
  const response = await fetch(path, {
    ...(body === undefined ? {} : { method: "POST", body }),
    credentials: "omit",
    cache: "no-store",
    headers: {
      accept: "application/json",
      "content-type": "application/json",
      authorization: `Bearer ${value}`,
    },
  });
  // A kubeconfig request, a list or a Status.
  const answer = (await response.json()) as { readonly status?: { readonly kubeConfig?: string } | string };
  const kubeconfig = typeof answer.status === "object" ? answer.status.kubeConfig : undefined;
  return {
    status: response.status,
    text: kubeconfig ?? JSON.stringify(answer, undefined, 2),
    isKubeconfig: kubeconfig !== undefined,
  };
}
