// The choices of a person for a kubeconfig, remembered in this browser for the next one. No secret is in them.

import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { ApiClient } from "@postern/client/api-client";
import { createResourceClient } from "@postern/client/resource-client";
import { inNamespace, nameOf, VIRTUAL_CLUSTERS } from "../../api/resources.ts";
import { projectOf } from "../../settings.ts";
import { isBuiltIn } from "./cluster-badge.tsx";
import { isLife, type Life, lifeWithin, REST, USUAL_LIFE } from "./kubeconfig-lives.ts";

export const KINDS = ["token", "certificate", "exec"] as const;
type Kind = (typeof KINDS)[number];

export type Wish = {
  readonly kind: Kind;
  readonly life: Life;
  readonly isReadOnly: boolean;
  /** For a cluster with an address of its own: use that instead of the address of this server. */
  readonly isDirect: boolean;
};

export const USUAL_WISH: Wish = { kind: "token", life: USUAL_LIFE, isReadOnly: false, isDirect: false };

const STORED = "postern-kubeconfig";

/** Undefined before the first one, and where what is stored cannot be read. */
export function rememberedWish(text = localStorage.getItem(STORED)): Wish | undefined {
  const [kind, life, readOnly, direct] = (text ?? "").split(" ");
  const known = KINDS.find((each) => each === kind);
  if (known === undefined || life === undefined || !isLife(life)) return undefined;
  return { kind: known, life, isReadOnly: readOnly === "true", isDirect: direct === "true" };
}

export const textOfWish = ({ kind, life, isReadOnly, isDirect }: Wish): string =>
  [kind, life, isReadOnly, isDirect].join(" ");

export const rememberWish = (wish: Wish): void => localStorage.setItem(STORED, textOfWish(wish));

/** The address below which this server forwards requests to the virtual cluster; undefined for the cluster's own address. */
export function serverOf(cluster: VirtualClusterInstance, { kind, isDirect }: Wish): string | undefined {
  // A client certificate is only valid at the cluster's own address.
  if (isBuiltIn(cluster) || isDirect || kind === "certificate") return undefined;
  const { namespace = "", name = "" } = cluster.metadata;
  return `${location.origin}/kubernetes/project/${projectOf(namespace)}/virtualcluster/${name}`;
}

/** The name of a saved file: projects have virtual clusters of the same name. */
export const fileOf = ({ metadata: { namespace = "", name = "" } }: VirtualClusterInstance): string =>
  `${projectOf(namespace)}-${name}.kubeconfig`;

export type IssuedKubeconfig = { readonly text: string; readonly expires: string | undefined };

/** `left`: seconds of the session, which the kubeconfig ends with. Rejects with an ApiError. */
export async function issueKubeconfig(
  client: ApiClient,
  cluster: VirtualClusterInstance,
  wish: Wish,
  left: number,
): Promise<IssuedKubeconfig> {
  const { namespace = "" } = cluster.metadata;
  const life = lifeWithin(wish.life, left);
  const server = serverOf(cluster, wish);
  const spec: JsonObject = {
    certificateTTL: life === REST ? left : Number(life),
    ...(wish.kind === "certificate" ? { clientCert: true } : {}),
    ...(wish.isReadOnly ? { role: "view" } : {}),
    ...(server === undefined ? {} : { server }),
  };
  const instances = createResourceClient<VirtualClusterInstance>(client, inNamespace(VIRTUAL_CLUSTERS, namespace));
  // The kind has this shape: see its schema in the API.
  const body = { kind: "VirtualClusterInstanceKubeConfig", spec };
  const { status } = (await instances.createSubresource(nameOf(cluster), "kubeconfig", body)) as {
    readonly status?: { readonly kubeConfig?: string; readonly expirationTimestamp?: string };
  };
  return { text: status?.kubeConfig ?? "", expires: status?.expirationTimestamp };
}
