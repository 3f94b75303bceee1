// The draft of a host cluster in its form.

import type { Cluster } from "@postern/api/cluster";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { withoutEmpty } from "../../api/spec-changes.ts";
import { NO_OWNED, type OwnedDraft, ownedDraftOf, ownedSpecOf } from "../../components/forms/owned-fields.tsx";
import { NO_SECRET, type SecretDraft, secretDraftOf, secretRefOf } from "../../components/forms/secret-fields.tsx";
import { type HostWay, wayOf } from "./host-badge.tsx";

export type HostDraft = OwnedDraft & {
  readonly way: HostWay;
  /** The Secret, where the cluster connects by a kubeconfig. */
  readonly secret: SecretDraft;
  readonly isClosed: boolean;
  /** The fields that close the cluster: the API has two for one thing, and an open cluster may have neither. */
  readonly closedBy: JsonObject;
};

export const EMPTY_HOST: HostDraft = {
  ...NO_OWNED,
  way: "agent",
  secret: { ...NO_SECRET, namespace: "clusters" },
  isClosed: false,
  closedBy: { usable: false },
};

/** Whether it takes no new instances. Not the function of the API's package: that would bring the schemas to every browser. */
export const isClosedCluster = ({ spec }: Pick<Cluster, "spec">): boolean =>
  spec?.usable === false || spec?.unusable === true;

export function hostDraftOf(cluster: Cluster): HostDraft {
  const { usable, unusable, kubeConfigRef } = cluster.spec ?? {};
  const isClosed = isClosedCluster(cluster);
  return {
    ...ownedDraftOf(cluster),
    way: wayOf(cluster),
    secret: secretDraftOf(kubeConfigRef),
    isClosed,
    closedBy: isClosed
      ? { ...(usable === false ? { usable } : {}), ...(unusable === true ? { unusable } : {}) }
      : EMPTY_HOST.closedBy,
  };
}

export const hostSpecOf = (draft: HostDraft): JsonObject => ({
  ...withoutEmpty({
    ...ownedSpecOf(draft),
    // One Secret per cluster, unless another one is named.
    kubeConfigRef:
      draft.way === "kubeconfig" ? secretRefOf({ ...draft.secret, name: draft.secret.name.trim() || draft.name }) : {},
  }),
  ...(draft.way === "agent" ? { networkPeer: true } : {}),
  ...(draft.isClosed ? draft.closedBy : {}),
});
